import { isAbsolute, resolve } from 'node:path';
import { isInside, realPathOf } from '../paths/troupe-home.ts';
import type { Subject } from './ask.ts';
import type { AskRequest } from './asker.ts';
import { callText } from './parking.ts';

/** Fields of a tool's input that name a file. */
const pathFields = ['file_path', 'notebook_path', 'path'];

/**
 * The ask for one use of a tool: its command, file or address as it is, and all
 * of its input as JSON if it has none of them.
 */
export function permissionOf(
  tool: string,
  input: Record<string, unknown>,
  { cwd, edits }: { cwd: string; edits: string[] }
): AskRequest {
  const { description, ...rest } = input;
  const subject = subjectOf(tool, input);
  const { path } = subject;
  const isEdit =
    edits.includes(tool) &&
    path !== undefined &&
    isInside(realPathOf(cwd), realPathOf(inside(cwd, path)));
  return {
    kind: 'permission',
    tool,
    subject,
    reason: typeof description === 'string' ? description : undefined,
    needs: isEdit ? 'write' : 'full',
    call: callText(tool, isCommand(subject, input) ? rest : input)
  };
}

/** Reading inside the workspace needs no permission. */
export function isPlainReading(
  tool: string,
  input: Record<string, unknown>,
  { cwd, workspace, reads }: { cwd: string; workspace: string; reads: string[] }
): boolean {
  const { path } = subjectOf(tool, input);
  return (
    reads.includes(tool) &&
    path !== undefined &&
    isInside(realPathOf(workspace), realPathOf(inside(cwd, path)))
  );
}

function subjectOf(tool: string, input: Record<string, unknown>): Subject {
  const { command, url } = input;
  // A server's tool may have fields of these names that mean something else.
  if (!/__|\//.test(tool)) {
    if (typeof command === 'string') return { command };
    const path = pathFields.map((name) => input[name]).find(isText);
    if (path !== undefined) return { path };
    if (typeof url === 'string') return { url };
  }
  return { command: JSON.stringify(input) };
}

/**
 * Whether the call runs the command that the ask shows. A model describes the
 * same command in other words; the description of another tool is its payload.
 */
function isCommand(
  { command }: Subject,
  input: Record<string, unknown>
): boolean {
  return command !== undefined && command === input.command;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function inside(cwd: string, path: string): string {
  return isAbsolute(path) ? path : resolve(cwd, path);
}
