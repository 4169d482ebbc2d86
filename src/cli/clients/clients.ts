import { join } from 'node:path';

/** The command line by which a client starts a server. */
export interface Launch {
  command: string;
  args: string[];
}

/** An MCP client: where its servers are configured, and in which form. */
export interface Client {
  name: string;
  label: string;
  file: (workspace: string, home: string) => string;
  /**
   * The file that holds for all projects of the user, where it is another one;
   * absent where there is none.
   */
  userFile?: (home: string, environment: NodeJS.ProcessEnv) => string;
  /** The key of the servers in a JSON file; absent for a TOML file. */
  key?: string;
  /** @param variables names that the client is to hand on */
  entry: (launch: Launch, variables: string[]) => Record<string, unknown>;
  /** One of these programs on PATH shows that the client is installed. */
  programs: string[];
  /** Folders and files that also show this, relative to HOME or absolute. */
  traces: string[];
  /** The same, relative to the workspace. */
  localTraces: string[];
  /** Which variables of the client's environment a server gets. */
  passes: 'all' | 'no keys' | 'little';
  /** The key of the entry that names further variables, if there is one. */
  handsOnBy?: string;
  /** What an entry lets the client call without asking; absent: nothing. */
  grants?: (entry: Entry) => string;
  /** The next step of the user in the client. */
  note: string;
}

/** The tools with a `readOnlyHint`; tools.test.ts compares. */
export const lookingTools = [
  ...['list', 'result', 'wait_for_agents', 'list_roles'],
  ...['agent_list', 'agent_get', 'events_read']
];

/** Logins, and where panes of workers open: set or not. */
const usualVariables = [
  ...['ANTHROPIC_API_KEY', 'CODEX_API_KEY', 'CODEX_HOME'],
  ...['TMUX', 'TMUX_PANE']
];

const stdio = (launch: Launch) => ({ type: 'stdio', ...launch });

/** docs/start/clients.md shows the same entries; client-entry.test.ts compares. */
export const clients: readonly Client[] = [
  {
    name: 'claude',
    label: 'Claude Code',
    file: (workspace) => join(workspace, '.mcp.json'),
    userFile: (home, { CLAUDE_CONFIG_DIR: directory }) =>
      join(directory || home, '.claude.json'),
    key: 'mcpServers',
    entry: stdio,
    programs: ['claude'],
    traces: ['.claude', '.claude.json'],
    localTraces: ['.claude'],
    passes: 'all',
    note: 'at its next start here choose "Use this MCP server"; Enter alone says no'
  },
  {
    name: 'codex',
    label: 'Codex',
    file: (workspace) => join(workspace, '.codex', 'config.toml'),
    userFile: (home, { CODEX_HOME: directory }) =>
      join(directory || join(home, '.codex'), 'config.toml'),
    entry: (launch, variables) => ({
      ...launch,
      env_vars: [...new Set([...usualVariables, ...variables])],
      startup_timeout_sec: 20,
      tool_timeout_sec: 600,
      default_tools_approval_mode: 'prompt',
      tools: Object.fromEntries(
        lookingTools.map((tool) => [tool, { approval_mode: 'approve' }])
      )
    }),
    programs: ['codex'],
    traces: ['.codex'],
    localTraces: ['.codex'],
    passes: 'little',
    handsOnBy: 'env_vars',
    grants: ({ default_tools_approval_mode: mode }) =>
      mode === 'approve'
        ? 'Codex calls every tool without asking, since its entry says default_tools_approval_mode = "approve"'
        : `Codex calls ${lookingTools.join(', ')} without asking, and asks before any other tool`,
    note: 'it reads the file in projects that you trust, for which it asks when you start it here'
  },
  {
    name: 'gemini-cli',
    label: 'Gemini CLI',
    file: (workspace) => join(workspace, '.gemini', 'settings.json'),
    userFile: (home) => join(home, '.gemini', 'settings.json'),
    key: 'mcpServers',
    // Gemini CLI puts in the value when it starts the server.
    entry: (launch, variables) => ({
      ...launch,
      ...(variables.length === 0
        ? {}
        : {
            env: Object.fromEntries(variables.map((name) => [name, `$${name}`]))
          }),
      timeout: 600_000
    }),
    programs: ['gemini'],
    traces: ['.gemini'],
    localTraces: ['.gemini'],
    passes: 'no keys',
    handsOnBy: 'env',
    note: 'it reads the file in folders that you trust, for which it asks when you start it here'
  },
  {
    name: 'copilot',
    label: 'Copilot CLI',
    file: (_, home) => join(home, '.copilot', 'mcp-config.json'),
    userFile: (home) => join(home, '.copilot', 'mcp-config.json'),
    key: 'mcpServers',
    entry: (launch) => ({ type: 'local', ...launch, tools: ['*'] }),
    programs: ['copilot'],
    traces: ['.copilot'],
    localTraces: [],
    passes: 'no keys',
    note: 'it has the server in all projects'
  },
  {
    name: 'cursor',
    label: 'Cursor',
    file: (workspace) => join(workspace, '.cursor', 'mcp.json'),
    userFile: (home) => join(home, '.cursor', 'mcp.json'),
    key: 'mcpServers',
    entry: (launch) => ({ ...launch }),
    programs: ['cursor', 'cursor-agent'],
    traces: [
      ...['.cursor', '.config/Cursor', 'Library/Application Support/Cursor'],
      '/Applications/Cursor.app'
    ],
    localTraces: ['.cursor'],
    passes: 'all',
    note: 'switch the server on in its settings, under MCP, if it is not'
  },
  {
    name: 'vscode',
    label: 'VS Code',
    file: (workspace) => join(workspace, '.vscode', 'mcp.json'),
    key: 'servers',
    entry: stdio,
    programs: ['code', 'code-insiders'],
    traces: [
      ...['.vscode', '.config/Code', 'Library/Application Support/Code'],
      '/Applications/Visual Studio Code.app'
    ],
    localTraces: ['.vscode'],
    passes: 'all',
    note: 'it asks whether you trust the server when it first starts it'
  }
];

/** The client with its file for all projects; undefined where it has none. */
export function forUser(client: Client): Client | undefined {
  const { userFile, name, note } = client;
  return (
    userFile && {
      ...client,
      file: (_, home) => userFile(home, process.env),
      note: name === 'cursor' ? note : 'it has the server in all projects'
    }
  );
}

/** Reads and edits the entry in a file of one format. */
export interface EntryFormat {
  /** The key of the servers. */
  key: string;
  /**
   * The entry with `serverName`, if there is one.
   * @throws Error with the reason why the file cannot be edited
   */
  read: (text: string) => unknown;
  /** Adds the entry to a text without it; undefined stands for no file. */
  add: (text: string | undefined, entry: Entry) => string;
  /** Replaces the command and the arguments of the entry. */
  relaunch: (text: string, entry: Entry) => string;
  /** Candidates for the text before `add`, the likeliest first. */
  originals: (text: string) => (string | undefined)[];
  /** The content of the file, for comparisons. */
  parse: (text: string) => unknown;
  /** The text of the entry, for a user who edits the file. */
  render: (entry: Entry) => string;
}

export type Entry = Record<string, unknown>;

/** The name of the server in an entry; clients derive tool names from it. */
export const serverName = 'agents';
