import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'plugins/**/*.test.ts'],
          exclude: ['src/testing/e2e/**', 'src/testing/engines/**'],
          testTimeout: 30_000
        }
      },
      {
        test: {
          name: 'e2e',
          include: ['src/testing/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2
        }
      },
      {
        test: {
          name: 'engines',
          include: ['src/testing/engines/**/*.test.ts'],
          testTimeout: 90_000,
          maxWorkers: 2
        }
      }
    ]
  }
});
