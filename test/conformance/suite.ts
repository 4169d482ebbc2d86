import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { forward } from './forwarder.ts';
import { askJudge } from './judges.ts';

const checksSchema = z.array(
  z.looseObject({ id: z.string(), status: z.string() })
);

export interface SuiteVerdict {
  /** 0: what the revision requires was passed, or is known not to be. */
  code: number;
  /** What it printed. */
  told: string;
  /** Scenarios that ran, and the ones with a failed check. */
  scenarios: string[];
  failed: string[];
}

/** The revisions of the protocol that the suite has requirements of. */
export type Revision = '2025-11-25' | '2026-07-28';

/** Runs all that a revision of the protocol requires, and what is new in it. */
export async function runSuite(
  server: { url: string; token: string },
  home: string,
  revision: Revision,
  expectedFailures?: string
): Promise<SuiteVerdict> {
  const results = mkdtempSync(join(home, 'results-'));
  const forwarder = await forward(server.url, server.token);
  try {
    const { code, stdout, stderr } = await askJudge(
      'conformance',
      [
        ...['server', '--url', forwarder.url, '-o', results],
        ...['--requirements', revision],
        ...(expectedFailures ? ['--expected-failures', expectedFailures] : [])
      ],
      { cwd: home, home }
    );
    const found = readdirSync(results).map((name) => ({
      // server-<scenario>-<time>
      scenario: name.replace(/^server-(.*)-\d{4}-\d\d-\d\dT.*$/, '$1'),
      checks: checksSchema.parse(
        JSON.parse(readFileSync(join(results, name, 'checks.json'), 'utf8'))
      )
    }));
    return {
      code,
      told: `${stdout}${stderr}`,
      scenarios: found.map(({ scenario }) => scenario).sort(),
      failed: found
        .filter(({ checks }) => checks.some((one) => one.status === 'FAILURE'))
        .map(({ scenario }) => scenario)
        .sort()
    };
  } finally {
    await forwarder.close();
    rmSync(results, { recursive: true, force: true });
  }
}
