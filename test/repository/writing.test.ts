import { expect, test } from 'vitest';
import { isProduct, sourceFiles } from '../kit/judges/source-files.ts';

/**
 * Calls of node:fs that put something into a file system, or change what is
 * there. By themselves they follow links and leave modes to the mask.
 */
const writing =
  /(?<![\w.])(?:fs\.)?(writeFile|appendFile|createWriteStream|copyFile|cp|open|truncate|ftruncate|mkdir|mkdtemp|symlink|link|rename|chmod|chown|utimes|lutimes)(?:Sync)?\(/g;

/** Where such calls are, outside of src/core/state, and why that is right. */
const allowed: Record<string, string> = {
  'plugins/rehearsal/rehearsal-agent.ts: writeFile':
    'its own stdout; it stands for an agent',
  'plugins/rehearsal/rehearsal-agent.ts: appendFile': 'it stands for an agent',
  'plugins/rehearsal/rehearsal-script.ts: mkdir':
    'files that its prompt asks for',
  'plugins/rehearsal/rehearsal-script.ts: writeFile':
    'files that its prompt asks for',
  'src/adapters/git/copy-file.ts: open': 'no link, 0600, in a new directory',
  'src/adapters/git/kept-files.ts: copyFile': 'exclusive, with its mode',
  'src/adapters/git/kept-files.ts: mkdir':
    "0700 for the copies; a project's directory, by the mask",
  'src/adapters/git/kept-files.ts: symlink': 'the link that was there',
  'src/adapters/git/kept-files.ts: utimes': 'what it has just copied',
  'src/adapters/git/remove-worktree.ts: rename':
    'a worktree, to a name beside it',
  'src/adapters/git/repositories.ts: open': 'wx, 0600, under a random name',
  'src/adapters/git/repositories.ts: rename': 'from a random name',
  'src/adapters/git/shadow.ts: mkdir': '0700, in the folder of an agent',
  'src/adapters/git/take-tree.ts: open': 'only to read',
  'src/adapters/child-process/descriptor-room.ts: open': 'only to read',
  'src/adapters/child-process/supervise.ts: open': 'only to read',
  'src/adapters/child-process/agent-tmux.ts: mkdir':
    '0700, and ours, or unused',
  'src/cli/entry/api-agent.ts: writeFile': 'its own stdout',
  'src/cli/clients/settings-file.ts: mkdir':
    "a client's directory, by the mask",
  'src/core/audit/journal/journal-files.ts: open': 'only to read',
  'src/core/audit/journal/rotation.ts: rename':
    'a file of ours, to a claimed name',
  'src/core/audit/views/view-file.ts: rename':
    'puts a file aside, links as such',
  'src/core/changes/change-file.ts: rename': 'from a random name',
  'src/core/changes/own-worktree.ts: mkdir':
    "a project's directory, by the mask",
  'src/core/council/state-file.ts: open': 'only to read, and no link',
  'src/core/engines/connection.ts: link': 'its own, by a symlink',
  'src/core/engines/connection.ts: mkdir': '0700, in a new folder',
  'src/core/engines/connection.ts: symlink':
    "to the user's own settings, out of a new folder",
  'src/core/paths/records.ts: rename': "whole records, in the user's directory",
  'src/core/retention/clean.ts: copyFile':
    'exclusive, where no link can be made',
  'src/core/retention/clean.ts: link': 'exclusive',
  'src/core/retention/trash.ts: mkdir': '0700, under a random name',
  'src/core/retention/trash.ts: open': 'a method of that name',
  'src/core/retention/trash.ts: rename': 'into a folder with a random name',
  'src/core/runs/run-files.ts: mkdir': '0700, exclusive',
  'src/core/runs/start-marks.ts: rename': 'in the folder of an agent',
  'src/core/runs/run-store.ts: rename': 'from a random name',
  'src/interfaces/http/token.ts: open': 'only to read, and no link'
};

test('all writing goes through src/core/state, or has a reason', () => {
  const found = sourceFiles('src', 'plugins')
    .filter(isProduct)
    .filter(({ path }) => !path.startsWith('src/core/state/'))
    .flatMap(({ path, text }) =>
      // A file that imports none of them from node:fs has its own functions of that name.
      /from 'node:fs(?:\/promises)?'/.test(text)
        ? [...text.matchAll(writing)].map(([, call]) => `${path}: ${call}`)
        : []
    );
  expect([...new Set(found)].sort()).toEqual(Object.keys(allowed).sort());
});

test('what adds to a file of ours there never follows a link', () => {
  const opening = /\bopenSync\(([^)]*)\)/g;
  const opened = sourceFiles('src/core/state')
    .filter(isProduct)
    .flatMap(({ path, text }) =>
      [...text.matchAll(opening)].map(([, words = '']) => ({
        path,
        words: words.replace(/\s+/g, ' ')
      }))
    );
  expect(opened.length).toBeGreaterThan(5);
  const careless = opened.filter(
    ({ words }) => !/O_NOFOLLOW|O_RDONLY|[rR]eadFlags|'r'|'wx'/.test(words)
  );
  expect(careless).toEqual([]);
});
