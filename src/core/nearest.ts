/**
 * The known words that an unknown word may stand for: the nearest ones, or else
 * words that begin with it. At most three.
 */
export function nearest(word: string, known: Iterable<string>): string[] {
  const meant = word.toLowerCase().slice(0, longestChars);
  const words = [...new Set(known)].filter((one) => one.length <= longestChars);
  const distances = words.map((one) => mistakes(meant, one.toLowerCase()));
  // At most two typing errors, fewer in short words.
  const least = Math.min(2, Math.floor(meant.length / 2), ...distances);
  const near = words.filter((_, index) => distances[index] === least);
  const begun = words.filter(
    (one) => meant.length > 1 && one.toLowerCase().startsWith(meant)
  );
  return (near.length > 0 ? near : begun).slice(0, 3);
}

/** `Did you mean "claude"? `, or an empty text when no word is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const names = nearest(word, known).map((name) => `"${name}"`);
  return names.length === 0 ? '' : `Did you mean ${names.join(' or ')}? `;
}

const longestChars = 60;

/** The number of letters inserted, omitted, changed or swapped in pairs. */
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
