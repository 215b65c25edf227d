import { describe, expect, it } from 'vitest';
import { urlFault } from '../../src/drivers/url-fault.js';

describe('the text of a URL', () => {
  it.each([
    'postgres://h/db?user=me@tenant',
    'postgres://u:p@h:5432/db?sslmode=require&application_name=a@b',
    'postgres://me@h/db?user=me%40tenant',
  ])('may have an @ in the value of a parameter: %s', (text) => {
    expect(urlFault(text)).toBeUndefined();
  });

  it.each([
    'postgres://u:1?a=secret@h/db',
    'postgres://u:1/x?a=secret@h/db',
    'postgres://u:p@ss?secret@h/db',
    'postgres://u:p@ss/secret@h/db?a=b',
    'postgres://u:p@ss#secret@h/db?a=b',
    'postgres://h:5432/db?user=me@tenant',
  ])('has an @ where none belongs if what is before it may be a part of a password: %s', (text) => {
    expect(urlFault(text)?.problem).toMatch('an @ where none belongs');
  });
});
