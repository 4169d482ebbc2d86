/** Less than 0 when the first is older; a preview comes before its release. */
export function compareReleases(one: string, other: string): number {
  const [these, those] = [numbersOf(one), numbersOf(other)];
  const length = Math.max(these.length, those.length);
  for (let index = 0; index < length; index += 1) {
    const difference = (these[index] ?? 0) - (those[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(isPreview(other)) - Number(isPreview(one));
}

function numbersOf(version: string): number[] {
  return (version.match(/\d+/g) ?? []).map(Number);
}

function isPreview(version: string): boolean {
  return version.includes('-');
}
