import { describe, expect } from 'vitest';
import { documentAt, fencedIn, sectionOf } from '../kit/judges/documents.ts';
import { saidByClient, symptomsOfClients } from '../symptoms/of-clients.ts';
import { createPlace } from '../symptoms/provoke.ts';
import { expectShown, shownOf } from '../symptoms/shown.ts';
import { createClientStage, mcp } from './client-stage.ts';
import { type Client, claudeClient } from './clients.ts';
import { claude, testWith } from './clis.ts';

const page = documentAt('docs/guides/troubleshooting.md');

describe('before anybody has said yes to it', () => {
  for (const [heading, symptom] of Object.entries(symptomsOfClients))
    testWith(symptom.cli)(
      `the real ${symptom.cli.name} says what the page shows`,
      async () => {
        const said = await saidByClient(createPlace(), symptom);
        expectShown(shownOf(page, heading), said);
      }
    );
});

describe('Claude Code, which asks before each call', () => {
  const asking: Client = {
    ...claudeClient,
    args: (model) =>
      claudeClient
        .args(model)
        .filter((word) => word !== '--dangerously-skip-permissions')
        .concat('--permission-mode', 'default')
  };

  testWith(claude)(
    'refuses them where nobody is there to be asked',
    async () => {
      expect(await listedBy(asking)).toContain('requested permissions to use');
    }
  );

  testWith(claude)(
    'is told once by the settings of the page, in a project that is trusted',
    async () => {
      const heading = '### Claude Code asks before each call';
      const [settings] = fencedIn(sectionOf(page, heading));
      expect(await listedBy(asking, settings?.body)).toContain('"running"');
    }
  );
});

/** What the model is shown that calls `list`. */
async function listedBy(client: Client, settings?: string): Promise<string> {
  const stage = await createClientStage(() => [
    mcp('list'),
    { do: 'say', text: 'Seen.' }
  ]);
  if (settings) {
    stage.workspace.write('.claude/settings.json', settings);
    const trusted = {
      [stage.workspace.path]: { hasTrustDialogAccepted: true }
    };
    stage.workspace.write(
      '../home/.claude.json',
      JSON.stringify({ projects: trusted })
    );
  }
  await stage.run(client);
  return stage.results[0] ?? '';
}
