/** Shapes of common tokens. Each is specific enough not to eat prose. */
const shapes = [
  /\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}/g,
  /\bxai-[A-Za-z0-9]{20,}/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{40,}/g,
  /\bglpat-[A-Za-z0-9_-]{20,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g
];

const mask = '[redacted]';
const shortestSecret = 8;

/**
 * Takes secrets out of a text before it reaches logs/: every value the host
 * knows to be a key, and common token shapes. Works on whole texts, so that
 * no secret is cut by a chunk edge. Best effort: an encoded or split secret
 * passes, and SECURITY.md says so.
 */
export function createRedactor(secrets: string[]): (text: string) => string {
  const known = [...new Set(secrets)]
    .filter((secret) => secret.length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, () => mask);
    for (const shape of shapes) clean = clean.replace(shape, () => mask);
    return clean;
  };
}

/** Values in an environment whose names say that they are secret. */
export function secretsIn(
  environment: Record<string, string | undefined>
): string[] {
  const secretName = /(API_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i;
  return Object.entries(environment).flatMap(([name, value]) =>
    value && secretName.test(name) ? [value] : []
  );
}
