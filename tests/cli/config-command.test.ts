import { describe, expect, it } from 'vitest';
import { tenure } from './command-line.js';

describe('tenure config', () => {
  it.each([
    ['redis://h/0?tls=true', 'has parameters (tls)'],
    ['etcd://h?tls=true', 'has what is no parameter of an etcd URL'],
    ['zookeeper://h?ttl=3', 'has a parameter that is none'],
    ['redis+sentinel://h', 'does not name the master'],
    ['redis+quorum://h1,h2', 'names 2 nodes'],
    ['sqlite:x.db?mode=ro', 'has the parameter mode'],
    ['memory:', 'is a memory that no other process sees'],
  ])('says what the other commands would say of %s', async (url, problem) => {
    const { status, stderr } = await tenure(['config', '--url', url]);
    expect(stderr.replace(/\s+/g, ' ')).toContain(`tenure config: --url ${problem}`);
    expect(status).toBe(1);
  });

  it('shows a duration as it was written', async () => {
    const { stdout } = await tenure(['config', '--ttl', '60s', '--timeout', '1.5m']);
    expect(stdout).toMatch(/^ttl +60s /m);
    expect(stdout).toMatch(/^timeout +1\.5m /m);
  });
});
