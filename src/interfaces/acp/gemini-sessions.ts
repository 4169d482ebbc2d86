import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until a session can be loaded. Gemini CLI 0.61 names the log of a
 * session by the minute in which it began or was loaded, and a load within that
 * minute overwrites the log.
 * @param home of Gemini CLI
 */
export async function untilLoadable(
  sessionId: string,
  home = process.env.GEMINI_CLI_HOME || homedir()
): Promise<void> {
  const folder = join(home, '.gemini', 'tmp');
  const minute = () => new Date().toISOString().slice(0, 16).replace(':', '-');
  const isWritten = () => {
    const name = `session-${minute()}-${sessionId.slice(0, 8)}.jsonl`;
    return namesIn(folder).some((project) =>
      namesIn(join(folder, project, 'chats')).includes(name)
    );
  };
  while (isWritten()) await delay(500);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
