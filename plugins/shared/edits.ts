import type { Reply } from '../../src/plugin/plugin.ts';

/** Further paths are dropped, and `isAll` becomes false. */
const mostPaths = 1000;

/** At its first event, notes that the program reports its edits. */
export function reportingEdits<Of extends Reply>(reply: Of): Of {
  return reply.edits ? reply : { ...reply, edits: { paths: [], isAll: true } };
}

/** Adds files that the program has changed. */
export function withEdits<Of extends Reply>(reply: Of, paths: string[]): Of {
  const { edits = { paths: [], isAll: false } } = reply;
  const all = [...new Set([...edits.paths, ...paths.filter(Boolean)])];
  const isAll = edits.isAll && all.length <= mostPaths;
  return { ...reply, edits: { paths: all.slice(0, mostPaths), isAll } };
}

/**
 * Notes that the agent calls a tool.
 * @param reported tools that change no files, or whose edits are reported
 */
export function withCall<Of extends Reply>(
  reply: Of,
  tool: string,
  reported: string[]
): Of {
  const { edits } = reply;
  return !edits || reported.includes(tool)
    ? reply
    : { ...reply, edits: { ...edits, isAll: false } };
}
