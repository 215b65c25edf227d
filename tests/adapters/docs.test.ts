import 'reflect-metadata';
import * as common from '@nestjs/common';
import * as core from '@nestjs/core';
import * as cron from 'node-cron';
import ts from 'typescript';
import { expect, it } from 'vitest';
import * as nestjs from '../../src/nestjs.js';
import * as nodeCron from '../../src/node-cron.js';
import { programsOf, readPage, runProgram } from '../support/page-programs.js';

const page = readPage('adapters.md');

it('docs/adapters.md holds a program for node-cron that prints what it says', async () => {
  const [listing] = programsOf(page);
  const others = { 'node-cron': cron, 'tenure/node-cron': nodeCron };
  expect(await runProgram(listing?.program ?? '', others)).toBe(listing?.output);
}, 30_000);

it('docs/adapters.md holds an application for NestJS that prints what it says', async () => {
  const [, program = '', output] =
    /```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(page) ?? [];
  const { outputText } = ts.transpileModule(program, {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
      experimentalDecorators: true,
    },
  });
  const others = { '@nestjs/common': common, '@nestjs/core': core, 'tenure/nestjs': nestjs };
  expect(await runProgram(outputText, others)).toBe(output);
}, 30_000);
