import { z } from 'zod';

/** The schema of what `turns` of an engine returns for one line of output. */
export function makeTurns() {
  const text = z.string();
  const basics = { within: text.exactOptional() };
  const call = { ...basics, id: text.exactOptional() };
  const said = {
    ...basics,
    text,
    isPiece: z.literal(true).exactOptional()
  };
  return z.array(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('text'), ...said }),
      z.object({ kind: z.literal('thinking'), ...said }),
      z.object({ kind: z.literal('tool'), ...call, name: text, input: text }),
      z.object({
        kind: z.literal('result'),
        ...call,
        text,
        isError: z.literal(true).exactOptional()
      }),
      z.object({
        kind: z.literal('edit'),
        ...call,
        path: text,
        change: z.enum(['added', 'changed', 'deleted']).exactOptional(),
        before: text.exactOptional(),
        after: text.exactOptional(),
        diff: text.exactOptional()
      }),
      z.object({ kind: z.literal('notice'), ...basics, text })
    ])
  );
}
