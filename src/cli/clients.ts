import { join } from 'node:path';

/** How a client starts a server. */
export interface Launch {
  command: string;
  args: string[];
}

/** Where a client looks for servers, and how it wants one to be written. */
export interface Client {
  name: string;
  label: string;
  file: (workspace: string, home: string) => string;
  /** Key of the servers; absent where the file is TOML. */
  key?: string;
  entry: (launch: Launch) => Record<string, unknown>;
  /** Its programs, of which one on PATH shows that it is here. */
  programs: string[];
  /** Folders and files that show it, too; below HOME unless absolute. */
  traces: string[];
  /** The same, below the workspace. */
  localTraces: string[];
  /** What of its own environment a server gets. */
  hands: 'all' | 'no keys' | 'little';
  /** What is still to do in the client. */
  note: string;
}

const stdio = (launch: Launch) => ({ type: 'stdio', ...launch });

/** The entries of docs/clients.md. */
export const clients: readonly Client[] = [
  {
    name: 'claude',
    label: 'Claude Code',
    file: (workspace) => join(workspace, '.mcp.json'),
    key: 'mcpServers',
    entry: stdio,
    programs: ['claude'],
    traces: ['.claude', '.claude.json'],
    localTraces: ['.claude'],
    hands: 'all',
    note: 'at its next start here choose "Use this MCP server"; Enter alone says no'
  },
  {
    name: 'codex',
    label: 'Codex',
    file: (workspace) => join(workspace, '.codex', 'config.toml'),
    entry: (launch) => ({
      ...launch,
      env_vars: [
        ...['ANTHROPIC_API_KEY', 'CODEX_API_KEY', 'CODEX_HOME'],
        ...['TMUX', 'TMUX_PANE']
      ],
      startup_timeout_sec: 20,
      tool_timeout_sec: 600,
      default_tools_approval_mode: 'approve'
    }),
    programs: ['codex'],
    traces: ['.codex'],
    localTraces: ['.codex'],
    hands: 'little',
    note: 'it reads the file in projects that you trust, for which it asks when you start it here'
  },
  {
    name: 'gemini-cli',
    label: 'Gemini CLI',
    file: (workspace) => join(workspace, '.gemini', 'settings.json'),
    key: 'mcpServers',
    entry: (launch) => ({ ...launch, timeout: 600_000 }),
    programs: ['gemini'],
    traces: ['.gemini'],
    localTraces: ['.gemini'],
    hands: 'no keys',
    note: 'it reads the file in folders that you trust, for which it asks when you start it here'
  },
  {
    name: 'copilot',
    label: 'Copilot CLI',
    file: (_, home) => join(home, '.copilot', 'mcp-config.json'),
    key: 'mcpServers',
    entry: (launch) => ({ type: 'local', ...launch, tools: ['*'] }),
    programs: ['copilot'],
    traces: ['.copilot'],
    localTraces: [],
    hands: 'no keys',
    note: 'it has the server in all projects'
  },
  {
    name: 'cursor',
    label: 'Cursor',
    file: (workspace) => join(workspace, '.cursor', 'mcp.json'),
    key: 'mcpServers',
    entry: (launch) => ({ ...launch }),
    programs: ['cursor', 'cursor-agent'],
    traces: [
      ...['.cursor', '.config/Cursor', 'Library/Application Support/Cursor'],
      '/Applications/Cursor.app'
    ],
    localTraces: ['.cursor'],
    hands: 'all',
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
    hands: 'all',
    note: 'it asks whether you trust the server when it first starts it'
  }
];
