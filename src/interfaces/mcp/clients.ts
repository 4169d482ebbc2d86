/**
 * How long one call may last before a client gives it up, with room to spare,
 * measured with the real clients (docs/clients.md). Seconds.
 */
const caps: [pattern: RegExp, seconds: number][] = [
  [/claude/i, 110],
  [/codex/i, 290],
  [/copilot/i, 170],
  [/gemini/i, 590]
];

const unknownClientSeconds = 50;

/** The longest one wait may take for a client, by `clientInfo.name`. */
export function longestWaitSeconds(clientName: string): number {
  return (
    caps.find(([pattern]) => pattern.test(clientName))?.[1] ??
    unknownClientSeconds
  );
}
