import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';

export interface Watched {
  /** Writes without anybody being told. */
  write: (text: string) => void;
  release: () => void;
}

/**
 * Has `before` and `after` called around whatever anybody else prints on a
 * stream. `after` is told whether a line was left unended.
 */
export function watchWrites(
  stream: WriteStream,
  before: () => void,
  after: (isOpen: boolean) => void
): Watched {
  const own = stream.write;
  const write = (text: string) => {
    Reflect.apply(own, stream, [text]);
  };
  stream.write = new Proxy(own, {
    apply: (target, _, args: unknown[]) => {
      before();
      const isTaken: unknown = Reflect.apply(target, stream, args);
      const text = stripVTControlCharacters(String(args[0] ?? ''));
      // With none, somebody only asks when what he wrote before is taken.
      after(text !== '' && !text.endsWith('\n'));
      return isTaken;
    }
  });
  return {
    write,
    release: () => {
      stream.write = own;
    }
  };
}
