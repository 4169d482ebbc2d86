/**
 * An engine with a long transcript: its agent writes thousands of turns at
 * once, and then one each 100 ms until a file says that it is over.
 */

/** One round of turns: words, a call with its result, and an edit. */
function roundOf(number) {
  const words = [
    `## Step ${number}`,
    `The parser reads **one line too many** in \`parser.ts\`, see [the issue](https://example.com/${number}):`,
    '- the first line is *empty*\n- the last line is `cut`\n- nothing else is wrong',
    '| File | Lines |\n|---|---:|\n| parser.ts | 120 |\n| lexer.ts | 88 |',
    '```ts\nconst lines = text.split("\\n");\n```'
  ].join('\n\n');
  const id = `call-${number}`;
  const output = `${number}: `.padEnd(80, 'x');
  return [
    { kind: 'text', text: words },
    { kind: 'tool', id, name: 'Bash', input: `npm test -- parser-${number}` },
    { kind: 'result', id, text: `${output}\n`.repeat(20) },
    {
      kind: 'edit',
      path: `src/file-${number}.ts`,
      before: 'const a = 1;\nconst b = 2;\n',
      after: 'const a = 2;\nconst b = 3;\n'
    }
  ];
}

/**
 * @param bytes of the output that is there at once
 * @param over a file that ends the agent when it is there
 */
export function talkerProgram({ node, bytes, over }) {
  return `#!${node}
const { existsSync, writeSync } = require('node:fs');
${roundOf}
const write = (event) => writeSync(1, JSON.stringify(event) + '\\n');
let [number, written] = [0, 0];
const writeRound = () => {
  number += 1;
  for (const turn of roundOf(number)) written += write({ turn });
};
while (written < ${bytes}) writeRound();
const timer = setInterval(() => {
  writeRound();
  if (!existsSync(${JSON.stringify(over)})) return;
  clearInterval(timer);
  write({ end: roundOf(0)[0].text + '\\n\\nThe end of the transcript.' });
}, 100);
`;
}

export function talkerPlugin(program) {
  return `export default {
  kind: 'cli',
  name: 'talker',
  description: 'Writes a long transcript.',
  command: ${JSON.stringify(program)},
  args: () => [],
  read: (reply, { turn, end }) => end
    ? { ...reply, text: end, finished: true }
    : turn.kind === 'text'
      ? { ...reply, text: reply.text + turn.text + '\\n\\n' }
      : { ...reply, progress: turn.kind + ' ' + (turn.input ?? turn.path ?? '') },
  turns: ({ turn }) => turn ? [turn] : []
};
`;
}
