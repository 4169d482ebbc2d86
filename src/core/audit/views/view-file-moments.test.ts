import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  countOf,
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { type Chunk, writeArchive } from './archive.ts';
import { MissingViews, markOf, replaceView } from './view-file.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});
vi.mock('node:fs/promises', async () => {
  const { watchedPromises } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedPromises();
});

const identity = { id: '0123abcd', user: 'me' };
const other = { id: 'ffffffff', user: 'me' };
const text = `# A view\n\n${markOf('IAC.md', 'IAC', identity)}\n`;
const theirs = `# Theirs\n\n${markOf('IAC.md', 'IAC', other)}\n`;

let folder: string;
let path: string;

beforeEach(() => {
  watchFiles();
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  folder = workspace.path;
  path = join(folder, 'IAC.md');
});

const names = () => readdirSync(folder).sort();
const refuse = (code: string) => () => {
  throw Object.assign(new Error('refused'), { code });
};

describe('while a view is written,', () => {
  const whileWriting = (act: () => void) => justBefore('open', '.tmp', act);

  test('a view of another record that appears there stays', async () => {
    whileWriting(() => writeFileSync(path, theirs));
    await replaceView(path, [text], identity);
    expect(readFileSync(path, 'utf8')).toBe(theirs);
    expect(names()).toEqual(['IAC.md']);
  });

  test('a file of another program that appears there is put aside', async () => {
    whileWriting(() => writeFileSync(path, 'mine'));
    await replaceView(path, [text], identity);
    expect(readFileSync(path, 'utf8')).toBe(text);
    const aside = join(folder, 'IAC.before-troupe.md');
    expect(readFileSync(aside, 'utf8')).toBe('mine');
  });

  test('a newer one makes it unwanted, and nothing is put aside', async () => {
    let isWanted = true;
    writeFileSync(path, 'mine');
    whileWriting(() => {
      isWanted = false;
    });
    await replaceView(path, [text], identity, () => isWanted);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(names()).toEqual(['IAC.md']);
  });
});

describe('a file in place of a view that is removed', () => {
  test('between two looks at it is no error', async () => {
    writeFileSync(path, theirs);
    justBefore('open', '/IAC.md', () => rmSync(path));
    await replaceView(path, [text], identity);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('just before it is put aside is no error', async () => {
    writeFileSync(path, 'mine');
    justBefore('rename', '/IAC.before-troupe.md', () => rmSync(path));
    await replaceView(path, [text], identity);
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(names()).toEqual(['IAC.md']);
  });
});

test.each([
  ['read', 'open', '/IAC.md'],
  ['put aside', 'rename', '/IAC.before-troupe.md'],
  ['replaced', 'rename', '.tmp']
] as const)(
  'a file that cannot be %s stays, and no temporary file is left',
  async (_title, kind, end) => {
    const content = end === '.tmp' ? `${text}old\n` : 'mine';
    writeFileSync(path, content);
    justBefore(kind, end, refuse('EACCES'));
    await expect(replaceView(path, [text], identity)).rejects.toThrow(
      'refused'
    );
    expect(readFileSync(path, 'utf8')).toBe(content);
    expect(names()).toEqual(['IAC.md']);
  }
);

describe('an archive file', () => {
  const chunkAt = (offset: number, end = 2): Chunk => ({
    first: 0,
    end,
    offset,
    mark: `m${offset}`
  });
  const write = (
    chunk: Chunk,
    render = async () => [Buffer.from(`at ${chunk.offset}`)],
    isThere = true
  ) => writeArchive(folder, identity, chunk, () => isThere, render);
  const read = () => {
    const [name = ''] = names();
    return readFileSync(join(folder, name), 'utf8');
  };

  test('that another server writes during the rendering stays, if it is newer', async () => {
    await write(chunkAt(100), async () => {
      await write(chunkAt(200));
      return [Buffer.from('at 100')];
    });
    expect(read()).toContain('at 200');
    expect(names()).toHaveLength(1);
  });

  test.each([
    ['it is older', chunkAt(50), true],
    ['it has fewer entries', chunkAt(200, 1), true],
    ['it is of another journal', chunkAt(200), false]
  ])(
    'that another server writes meanwhile is replaced, if %s',
    async (_title, chunk, isThere) => {
      const render = async () => {
        await write(chunk);
        return [Buffer.from('at 100')];
      };
      await write(chunkAt(100), render, isThere);
      expect(read()).toContain('at 100');
    }
  );

  test('that is newer needs no rendering', async () => {
    await write(chunkAt(200));
    const render = () => Promise.reject(new Error('needless'));
    await write(chunkAt(100), render);
    await write(chunkAt(200), render);
    expect(read()).toContain('at 200');
  });

  test('is written into a folder that was deleted during the rendering', async () => {
    const archive = join(folder, 'archive');
    mkdirSync(archive);
    const render = async () => {
      rmSync(archive, { recursive: true });
      return [Buffer.from('text')];
    };
    await writeArchive(archive, identity, chunkAt(1), () => true, render);
    expect(existsSync(archive)).toBe(true);
  });
});

test('a new page of an agent costs no look at the archive', () => {
  const archive = join(folder, 'archive');
  const agents = join(folder, 'agents');
  for (const made of [archive, agents]) mkdirSync(made);
  const write = (...names: string[]) => {
    for (const name of names) writeFileSync(join(folder, name), '');
  };
  write('archive/IAC-1.md', 'archive/IAC-2.0123abcd.md', 'agents/a.md');
  const views = new MissingViews({ directory: folder, archive, agents });
  const all = { archive: ['IAC-1', 'IAC-2'], pages: ['a'] };
  const none = { archive: [], pages: [] };
  views.expect(all);
  expect(views.find()).toEqual(none);

  const looks = countOf('list', '/archive');
  write('agents/b.md', 'agents/IAC-2.md');
  views.expect({ ...all, pages: ['a', 'b'] });
  expect(views.find()).toEqual(none);
  expect(looks.times).toBe(0);

  rmSync(join(archive, 'IAC-2.0123abcd.md'));
  rmSync(join(agents, 'a.md'));
  expect(views.find()).toEqual({ archive: ['IAC-2'], pages: ['a'] });
  expect(looks.times).toBe(1);
  // What is missing is told until it is there.
  expect(views.find()).toEqual({ archive: ['IAC-2'], pages: ['a'] });
  write('archive/IAC-2.md', 'agents/a.md');
  expect(views.find()).toEqual(none);
});
