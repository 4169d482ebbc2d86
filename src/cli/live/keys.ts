/** Keys without a character of their own, as terminals send them. */
const names = new Map([
  ['\u001b[A', 'up'],
  ['\u001b[B', 'down'],
  ['\u001b[5~', 'page-up'],
  ['\u001b[6~', 'page-down'],
  ['\u001b[H', 'home'],
  ['\u001b[F', 'end'],
  ['\u001b[1~', 'home'],
  ['\u001b[4~', 'end'],
  ['\u001b[7~', 'home'],
  ['\u001b[8~', 'end'],
  ['\r', 'enter'],
  ['\n', 'enter'],
  ['\u001b', 'escape'],
  ['\u007f', 'backspace'],
  ['\b', 'backspace'],
  ['\u0003', 'ctrl-c'],
  ['\u001a', 'ctrl-z']
]);

const oneKey = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|\p{Cc}|\p{Any}/gu;

/**
 * The keys in what a terminal sent: names for those above, else characters.
 * Other keys without a character are left out.
 */
export function keysIn(text: string): string[] {
  return [...text.matchAll(oneKey)].flatMap(([key]) => {
    // Keypads and old terminals send O where others send [.
    const known = names.get(key.replace(/^\u001bO/, '\u001b['));
    if (known !== undefined) return [known];
    return /^\p{Cc}/u.test(key) ? [] : [key];
  });
}
