import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../../dist-directory.ts';
import { type PromptFile, parsePrompt } from './prompt-file.ts';

/** In the order in which clients are told of them. */
const names = ['delegate', 'second-opinion', 'council', 'squad'];

let files: Promise<PromptFile[]> | undefined;

/** All prompts of the package, read once, and not before they are wanted. */
export function readPrompts(): Promise<PromptFile[]> {
  files ??= read();
  return files;
}

async function read(): Promise<PromptFile[]> {
  const { parse } = await import('yaml');
  return names.map((name) => {
    const path = join(packageDirectory(), 'prompts', `${name}.md`);
    return parsePrompt(name, readFileSync(path, 'utf8'), parse);
  });
}
