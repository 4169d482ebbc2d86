import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { everyday } from './test/e2e/everyday.ts';

/**
 * Every test of the real CLIs but the quick ones, which they hold already; or
 * those of a file that is named; else the quick ones alone.
 */
const ofEngines =
  process.env.TROUPE_TEST_ENGINES === 'all'
    ? '!(quick)'
    : process.argv.some((word) => word.includes('test/engines/'))
      ? '*'
      : '{quick,council-peer}';

const root = import.meta.dirname;

// Node up to 22 parses this file of certificates at each start, which takes
// longer than the rest of the start: 90 ms for the 144 of Debian. Tests speak
// to this machine alone; npm reads the certificates that its `cafile` names.
delete process.env.NODE_EXTRA_CA_CERTS;

const isEveryday = process.env.TROUPE_TEST === 'everyday';
const endToEnd = isEveryday
  ? everyday.map((name) => `test/e2e/${name}.test.ts`)
  : ['test/e2e/**/*.test.ts'];

/** Tests that read the clock: what else runs must leave them some time. */
const timed = testsIn(['test/e2e'], /performance\.now\(|Date\.now\(/).filter(
  (path) => !isEveryday || endToEnd.includes(path)
);

/** Tests that replace a module: no other file may have loaded it before. */
const replacing = testsIn(
  ['src', 'plugins', 'test'],
  /vi\.mock\(|file-operations\.ts/
);

function testsIn(folders: string[], pattern: RegExp): string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((path) =>
        `${folder}/${path}`.replaceAll('\\', '/')
      )
    )
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => pattern.test(readFileSync(join(root, path), 'utf8')));
}

const ofUnits = {
  maxWorkers: availableParallelism(),
  testTimeout: 30_000,
  env: { TEST_DIRECTORY: 'troupe é x-' }
};

/** A place of its own for what each file makes and starts. */
const setupFiles = ['test/kit/workspaces/own-temp-directory.ts'];

/** For tests that start other processes, and wait for them. */
const waiting = 2 * availableParallelism();

/**
 * One process runs many files: loading every module again for each of them
 * takes half of the time of the unit tests.
 */
const isolate = false;

/** How many other e2e tests are between two of the real programs. */
const between = 4;

/**
 * The tests of the real programs are spread among the other e2e tests, not left
 * to the end, where nothing uses the time that they wait.
 */
class Spread extends BaseSequencer {
  override async sort(
    files: TestSpecification[]
  ): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const of = (name: string) =>
      sorted.filter(({ project }) => project.name === name);
    const engines = of('engines');
    const spread = of('e2e').flatMap((file, at) =>
      at % between === 0 ? [...engines.splice(0, 1), file] : [file]
    );
    const others = sorted.filter((file) => !spread.includes(file));
    return [...spread, ...others];
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: Spread },
    // The groups run one after the other.
    projects: [
      {
        test: {
          ...ofUnits,
          name: 'unit',
          setupFiles,
          isolate,
          sequence: { groupOrder: 0 },
          include: ['{src,plugins,test}/**/*.test.ts'],
          exclude: [
            'test/{e2e,engines,conformance}/**',
            'test/chaos/{chaos,everyday/everyday}.test.ts',
            ...replacing
          ]
        }
      },
      {
        test: {
          ...ofUnits,
          name: 'unit-replacing',
          setupFiles,
          sequence: { groupOrder: 0 },
          include: replacing
        }
      },
      {
        test: {
          name: 'e2e',
          isolate,
          setupFiles,
          sequence: { groupOrder: 1 },
          include: endToEnd,
          exclude: timed,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: waiting
        }
      },
      {
        test: {
          name: 'engines',
          isolate,
          // Beside the others: half of their time is spent waiting.
          sequence: { groupOrder: 1 },
          include: [`test/engines/${ofEngines}.test.ts`],
          globalSetup: ['test/engines/nothing-left.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: waiting
        }
      },
      {
        test: {
          name: 'e2e-timed',
          isolate,
          setupFiles,
          sequence: { groupOrder: 2 },
          include: timed,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2
        }
      },
      {
        test: {
          name: 'conformance',
          isolate,
          sequence: { groupOrder: 3 },
          include: ['test/conformance/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 2
        }
      },
      {
        // Each takes the whole machine: by itself.
        test: {
          name: 'chaos',
          sequence: { groupOrder: 4 },
          include: ['test/chaos/{chaos,everyday/everyday}.test.ts'],
          maxWorkers: 1
        }
      }
    ]
  }
});
