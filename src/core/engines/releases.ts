/** Negative when the first is older; a pre-release precedes its release. */
export function compareReleases(one: string, other: string): number {
  const [first, second] = [numbersOf(one), numbersOf(other)];
  const length = Math.max(first.length, second.length);
  for (let index = 0; index < length; index += 1) {
    const difference = (first[index] ?? 0) - (second[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(other.includes('-')) - Number(one.includes('-'));
}

function numbersOf(version: string): number[] {
  return (version.match(/\d+/g) ?? []).map(Number);
}
