import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const mostTests = 30;
const furthest = 5;
const notUnit = /^test\/(e2e|engines|conformance|chaos\/(chaos|everyday))/;
let importers;

/**
 * The unit tests near a file, no more than can be run in a minute: the tests
 * that import it, over at most four other files, nearest first. For a file
 * without a test of its own name, such as a program that tests start by its
 * path, the tests of its folder come first.
 */
export function testsNear(root, tracked, path) {
  const own = path.replace(/\.ts$/, '.test.ts');
  const ofFolder = tracked.includes(own) ? [] : testsOfFolder(tracked, path);
  const importing = testsImporting(root, tracked, path);
  return [...new Set([...ofFolder, ...importing])].slice(0, mostTests);
}

/** The tests of the nearest folder that has some, below it if necessary. */
function testsOfFolder(tracked, path) {
  const tests = tracked.filter(isUnitTest);
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    const within = tests.filter((test) => test.startsWith(`${folder}/`));
    const here = within.filter((test) => dirname(test) === folder);
    if (within.length > 0) return here.length > 0 ? here : within;
  }
  return [];
}

function isUnitTest(path) {
  return path.endsWith('.test.ts') && !notUnit.test(path);
}

function testsImporting(root, tracked, path) {
  importers ??= importersOf(root, tracked);
  const seen = new Set([path]);
  const tests = [];
  let ring = [path];
  for (let away = 0; away < furthest && ring.length > 0; away += 1) {
    ring = ring.flatMap((file) =>
      [...(importers.get(file) ?? [])].filter((importer) => {
        if (seen.has(importer)) return false;
        seen.add(importer);
        return true;
      })
    );
    tests.push(
      ...ring
        .filter(isUnitTest)
        .sort((a, b) => closeness(b, path) - closeness(a, path))
    );
    ring = ring.filter((file) => !file.endsWith('.test.ts'));
  }
  return tests;
}

/** Leading folders that two paths share. */
function closeness(a, b) {
  const [left, right] = [a.split('/'), b.split('/')];
  const end = left.findIndex((part, index) => part !== right[index]);
  return end < 0 ? left.length : end;
}

/** The files that import each file. Imports of types alone run no code. */
function importersOf(root, tracked) {
  const found = new Map();
  for (const path of tracked) {
    if (!/^(src|plugins|test)\/.*\.ts$/.test(path)) continue;
    const text = readFileSync(join(root, path), 'utf8');
    const imports =
      /(?:import|export)\s+(?!type\b)[^;'"]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)|^import '(\.[^']+)'/gm;
    for (const [, from, lazy, bare] of text.matchAll(imports)) {
      const target = join(dirname(path), from ?? lazy ?? bare);
      if (!found.has(target)) found.set(target, new Set());
      found.get(target).add(path);
    }
  }
  return found;
}
