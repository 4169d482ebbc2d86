import { parseArgs } from 'node:util';

/**
 * The flags of Cursor's stand-in. Strict, as the real one is.
 * @throws Error for an unknown flag or value
 */
export function readFlags() {
  const parsed = parseArgs({
    allowPositionals: true,
    options: {
      print: { type: 'boolean', short: 'p' },
      version: { type: 'boolean', short: 'v' },
      force: { type: 'boolean', short: 'f' },
      yolo: { type: 'boolean' },
      trust: { type: 'boolean' },
      plan: { type: 'boolean' },
      'approve-mcps': { type: 'boolean' },
      'stream-partial-output': { type: 'boolean' },
      'output-format': { type: 'string' },
      format: { type: 'string' },
      mode: { type: 'string' },
      sandbox: { type: 'string' },
      model: { type: 'string' },
      resume: { type: 'string' },
      workspace: { type: 'string' },
      'api-key': { type: 'string' }
    }
  });
  oneOf(parsed.values, 'output-format', ['text', 'stream-json']);
  oneOf(parsed.values, 'mode', ['plan', 'ask']);
  oneOf(parsed.values, 'sandbox', ['enabled', 'disabled']);
  return parsed;
}

function oneOf(given, name, choices) {
  const value = given[name];
  if (value === undefined || choices.includes(value)) return;
  throw new Error(`option '--${name}' argument '${value}' is invalid`);
}
