import { z } from 'zod';

const argumentSchema = z.strictObject({
  name: z.string().regex(/^[a-z_]+$/),
  description: z.string().min(1),
  required: z.boolean().default(false),
  /** Stands in the text when the user gave no value. */
  default: z.string().min(1).optional()
});

const headSchema = z.strictObject({
  title: z.string().min(1),
  description: z.string().min(1).max(200),
  /** The tools that the text names: without them it is not offered. */
  toolsets: z.array(z.string()).min(1),
  arguments: z.array(argumentSchema)
});

/** A text for a user to start with, as its file has it. */
export interface PromptFile extends z.output<typeof headSchema> {
  /** The file's name without `.md`, with `_` for `-`. */
  name: string;
  /** With `{{argument}}` where values go. */
  body: string;
}

/**
 * A prompt from its file: a head of YAML between two lines `---`, and the
 * text.
 * @param parse of YAML
 * @throws Error that says what is wrong with the file
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
