/** A mistake or two, fewer in short words. */
const mistakesIn = (word: string) => Math.min(2, Math.floor(word.length / 2));

/**
 * The known words that somebody may have meant by one that is not known:
 * those that are nearest, or that it is the beginning of. At most three.
 */
export function nearest(word: string, known: Iterable<string>): string[] {
  const meant = word.toLowerCase().slice(0, longest);
  const words = [...new Set(known)].filter((one) => one.length <= longest);
  const distances = words.map((one) => mistakes(meant, one.toLowerCase()));
  const least = Math.min(mistakesIn(meant), ...distances);
  const near = words.filter((_, index) => distances[index] === least);
  const begun = words.filter(
    (one) => meant.length > 1 && one.toLowerCase().startsWith(meant)
  );
  return (near.length > 0 ? near : begun).slice(0, 3);
}

/** `Did you mean "claude"? `, or nothing when nothing is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const names = nearest(word, known).map((name) => `"${name}"`);
  return names.length === 0 ? '' : `Did you mean ${names.join(' or ')}? `;
}

const longest = 60;

/** Letters put in, left out, changed, or swapped with the next one. */
function mistakes(one: string, other: string): number {
  const width = other.length + 1;
  const rows = [Array.from({ length: width }, (_, column) => column)];
  for (const [row, letter] of [...one].entries()) {
    const above = rows[row] ?? [];
    const current = [row + 1];
    for (let column = 1; column < width; column += 1) {
      const isSame = letter === other[column - 1];
      const isSwapped =
        letter === other[column - 2] && one[row - 1] === other[column - 1];
      current[column] = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (rows[row - 1]?.[column - 2] ?? row) + 1 : width + row
      );
    }
    rows.push(current);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
