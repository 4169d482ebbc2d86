import { defineConfig } from 'vitest/config';

/**
 * Every test of the real CLIs but the quick ones, which they hold already; or
 * those of a file that is named; else the quick ones alone.
 */
const ofEngines =
  process.env.TROUPE_TEST_ENGINES === 'all'
    ? '!(quick)'
    : process.argv.some((word) => word.includes('testing/engines/'))
      ? '*'
      : '{quick,council-peer}';

export default defineConfig({
  test: {
    // One after the other: e2e tests look at the clock.
    projects: [
      {
        test: {
          name: 'unit',
          sequence: { groupOrder: 0 },
          include: ['src/**/*.test.ts', 'plugins/**/*.test.ts'],
          exclude: ['src/testing/{e2e,engines,conformance}/**'],
          testTimeout: 30_000
        }
      },
      {
        test: {
          name: 'e2e',
          sequence: { groupOrder: 1 },
          include: ['src/testing/e2e/**/*.test.ts'],
          exclude: ['src/testing/e2e/chaos.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2
        }
      },
      {
        test: {
          name: 'conformance',
          sequence: { groupOrder: 2 },
          include: ['src/testing/conformance/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 2
        }
      },
      {
        test: {
          name: 'engines',
          sequence: { groupOrder: 3 },
          include: [`src/testing/engines/${ofEngines}.test.ts`],
          globalSetup: ['src/testing/engines/nothing-left.ts'],
          testTimeout: 90_000,
          maxWorkers: 2
        }
      },
      {
        // It takes the whole machine: by itself.
        test: {
          name: 'chaos',
          sequence: { groupOrder: 4 },
          include: ['src/testing/e2e/chaos.test.ts']
        }
      }
    ]
  }
});
