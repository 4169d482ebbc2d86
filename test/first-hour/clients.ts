import {
  claude,
  codex,
  copilot,
  geminiCli,
  type RealCli
} from '../engines/clis.ts';
import type { TempWorkspace } from '../kit/workspaces/temp-workspace.ts';

/** Something that a client shows, and what its user does then. */
export interface Question {
  /** As the page has it. */
  title: string;
  shows: RegExp;
  choose: RegExp;
  /** Shows that it was chosen, where the question stays on the screen. */
  taken?: RegExp;
}

/** A client in a terminal, set up as by a daily user. */
export interface TerminalClient {
  title: string;
  cli: RealCli;
  /** Its command, as the user types it. */
  command: string[];
  /** How it reaches the model, and its login. */
  env: (url: string) => Record<string, string>;
  furnish: (workspace: TempWorkspace, url: string) => void;
  /** Before one can type. */
  questions: Question[];
  /** It is ready for a sentence. */
  ready: RegExp;
  /** Before each call of a tool; none asks more than once for one. */
  approvals: Question[];
  /** Of the engine of the same make, in addition to the model's address. */
  engineEnv: Record<string, string>;
}

const home = (name: string) => `../home/${name}`;

export const terminalClients: TerminalClient[] = [
  {
    title: 'Claude Code',
    cli: claude,
    // By default a check of its maker's decides, which is not to be had here.
    command: ['claude', '--permission-mode', 'default'],
    env: (url) => ({ ANTHROPIC_BASE_URL: url }),
    furnish: (workspace) =>
      workspace.write(
        home('.claude.json'),
        JSON.stringify({
          hasCompletedOnboarding: true,
          theme: 'dark',
          customApiKeyResponses: { approved: ['test-key'], rejected: [] }
        })
      ),
    questions: [
      {
        title: 'whether the folder is trusted',
        shows: /Is this a project you created or one you trust/,
        choose: /Yes, I trust this folder/
      },
      {
        title: 'whether to use the server',
        shows: /New MCP server found in this project: agents/,
        choose: /Use this MCP server/
      }
    ],
    ready: /\? for shortcuts|\/effort/,
    approvals: [
      {
        title: 'whether it may call `spawn_claude`',
        shows: /Spawn Claude[\s\S]*Do you want to proceed/,
        choose: /Yes, and don.t ask again/
      },
      {
        title: 'whether it may call `wait_for_agents`',
        shows: /Wait For Agents[\s\S]*Do you want to proceed/i,
        choose: /Yes, and don.t ask again/
      }
    ],
    engineEnv: claude.login
  },
  {
    title: 'Codex',
    cli: codex,
    command: ['codex'],
    env: () => ({}),
    furnish: (workspace, url) =>
      workspace.write(
        home('.codex/config.toml'),
        [
          'model_provider = "test"',
          '[model_providers.test]',
          'name = "Test"',
          `base_url = "${url}"`,
          'env_key = "CODEX_API_KEY"',
          'wire_api = "responses"\n'
        ].join('\n')
      ),
    questions: [
      {
        title: 'whether the folder is trusted',
        shows: /Trust this folder\?/,
        choose: /Trust and continue/
      }
    ],
    ready: /Ask Codex to do anything/,
    approvals: [
      {
        title: 'whether it may call `spawn_codex`',
        shows: /Allow the agents MCP server to run tool "spawn_codex"\?/,
        choose: /1\. Allow/
      }
    ],
    engineEnv: codex.login
  },
  {
    title: 'Gemini CLI',
    cli: geminiCli,
    command: ['gemini'],
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url }),
    furnish: (workspace) => {
      const { settings } = geminiCli;
      if (settings) workspace.write(home(settings.file), settings.text);
    },
    questions: [
      {
        title: 'whether the folder is trusted',
        // It is drawn again once Gemini CLI knows what is in the folder.
        shows:
          /Do you trust the files in this folder\?[\s\S]*MCP Servers \(1\)/,
        choose: /1\. Trust folder/,
        taken: /restarting to apply the trust changes/
      }
    ],
    ready: /1 MCP server[\s\S]*Type your message/,
    approvals: [
      {
        title: 'whether it may call `spawn_gemini_cli`',
        shows: /Allow execution of MCP tool "spawn_gemini_cli"/,
        choose: /Allow all server tools for this session/
      }
    ],
    engineEnv: geminiCli.login
  },
  {
    title: 'Copilot CLI',
    cli: copilot,
    command: ['copilot'],
    env: (url) => ({ COPILOT_PROVIDER_BASE_URL: url }),
    furnish: () => undefined,
    questions: [
      {
        title: 'whether the folder is trusted',
        shows: /Do you trust the files in this folder\?/,
        choose: /Yes, and remember this folder/
      }
    ],
    ready: /1 server connected/,
    approvals: [
      {
        title: 'whether it may call `spawn_copilot`',
        shows: /Spawn Copilot[\s\S]*Do you want to use this tool/,
        choose: /Yes, and don.t ask again for tool/
      }
    ],
    engineEnv: copilot.login
  }
];
