import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { replaceFile } from '../../core/state/files/atomic-file.ts';

/**
 * Opens the address in the user's browser. Does nothing where none can be
 * found; never throws. The arguments of a program can be read by other users,
 * so the browser gets the address in a file that is private to this user.
 * @param door a private file; the file with the address is next to it
 */
export function openBrowser(address: string, door: string): void {
  const opener = openerHere();
  if (!opener) return;
  try {
    const file = join(dirname(door), 'open.html');
    const content = `0;url=${address}`;
    replaceFile(
      file,
      `<!doctype html><meta http-equiv="refresh" content="${content}"><title>troupe</title>\n`
    );
    const [command, ...args] = opener;
    const child = spawn(command, [...args, pathToFileURL(file).href], {
      detached: true,
      stdio: 'ignore'
    });
    child.on('error', () => undefined);
    child.unref();
  } catch {
    // The address was printed.
  }
}

/** Undefined without a screen: `xdg-open` would then start a text browser. */
function openerHere(): [string, ...string[]] | undefined {
  const { platform, env } = process;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['cmd', '/c', 'start', ''];
  return (env.DISPLAY ?? env.WAYLAND_DISPLAY) ? ['xdg-open'] : undefined;
}
