import { createInterface } from 'node:readline/promises';

/** A question on the terminal. Anything but yes is no. */
export async function ask(question: string): Promise<boolean> {
  const line = createInterface({
    input: process.stdin,
    output: process.stderr
  });
  let isAnswered = false;
  // Ctrl-D is an answer, too.
  const closed = new Promise<string>((resolve) =>
    line.once('close', () => {
      // What is told next begins a line of its own.
      if (!isAnswered) process.stderr.write('\n');
      resolve('');
    })
  );
  const answer = await Promise.race([
    line.question(`${question} [y/N] `).then((text) => {
      isAnswered = true;
      return text;
    }),
    closed
  ]);
  line.close();
  return /^y(es)?$/i.test(answer.trim());
}
