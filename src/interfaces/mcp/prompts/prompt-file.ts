import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { packageDirectory } from '../../../host/package.ts';

const argumentSchema = z.strictObject({
  name: z.string().regex(/^[a-z_]+$/),
  description: z.string().min(1),
  required: z.boolean().default(false),
  /** The text that replaces a missing value. */
  default: z.string().min(1).optional()
});

const headSchema = z.strictObject({
  title: z.string().min(1),
  description: z.string().min(1).max(200),
  /** The prompt is offered only if all these toolsets are on. */
  toolsets: z.array(z.string()).min(1),
  arguments: z.array(argumentSchema)
});

export interface PromptFile extends z.output<typeof headSchema> {
  /** The file's name without `.md`, with `_` for `-`. */
  name: string;
  /** With placeholders such as `{{argument}}`. */
  body: string;
}

/**
 * Parses a prompt file: YAML between two lines `---`, then the text.
 * @param parse parses YAML
 * @throws Error with the problem of the file
 */
export function parsePrompt(
  fileName: string,
  text: string,
  parse: (yaml: string) => unknown
): PromptFile {
  const [, head, body = ''] =
    /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text) ?? [];
  if (head === undefined) throw new Error('it has no head between lines "---"');
  const name = fileName.replace(/\.md$/, '').replaceAll('-', '_');
  return { ...headSchema.parse(parse(head)), name, body: body.trim() };
}

/** File names without `.md`, in the order for clients. */
const names = ['delegate', 'second-opinion', 'council', 'squad'];

let files: Promise<PromptFile[]> | undefined;

/** The prompts of the package, read at the first call. */
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
