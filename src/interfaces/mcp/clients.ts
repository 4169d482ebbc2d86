interface ClientLimits {
  /** How long one wait may take. */
  waitSeconds: number;
  /** How long an answer's JSON may be, in UTF-8. */
  answerBytes: number;
}

/**
 * What a call may take before a client gives it up, and what an answer may
 * hold before the client cuts it, with room to spare: measured with the real
 * clients (docs/clients.md).
 */
const known: [pattern: RegExp, limits: ClientLimits][] = [
  [/claude/i, { waitSeconds: 110, answerBytes: 48_000 }],
  [/codex/i, { waitSeconds: 290, answerBytes: 11_500 }],
  [/copilot/i, { waitSeconds: 170, answerBytes: 19_500 }],
  [/gemini/i, { waitSeconds: 590, answerBytes: 38_000 }]
];

const unknown: ClientLimits = {
  waitSeconds: 50,
  answerBytes: Number.POSITIVE_INFINITY
};

/** The limits of a client, by `clientInfo.name`. */
export function limitsOf(clientName: string): ClientLimits {
  return known.find(([pattern]) => pattern.test(clientName))?.[1] ?? unknown;
}
