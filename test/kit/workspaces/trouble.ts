import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A fault in another process, at the moment that a test wants it. */
export interface Trouble {
  /** A variable that puts it into a program of Node. */
  option: string;
  says: (words: string) => void;
  throws: (message: string) => void;
}

/**
 * @param folder where its files lie; not the workspace, for what an error of
 *   a plugin is taken for ends nothing
 */
export function troubleIn(folder: string): Trouble {
  const program = join(folder, 'trouble.mjs');
  const paths = {
    words: join(folder, 'words'),
    message: join(folder, 'message')
  };
  writeFileSync(
    program,
    `import { existsSync, readFileSync } from 'node:fs';
     const once = (path, act) => {
       const look = setInterval(() => {
         const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
         if (text === '') return;
         clearInterval(look);
         act(text);
       }, 20).unref();
     };
     once(${JSON.stringify(paths.words)}, (words) => console.error(words));
     once(${JSON.stringify(paths.message)}, (message) => {
       throw new Error(message);
     });`
  );
  return {
    option: `NODE_OPTIONS=--import=${pathToFileURL(program).href}`,
    says: (words) => writeFileSync(paths.words, words),
    throws: (message) => writeFileSync(paths.message, message)
  };
}
