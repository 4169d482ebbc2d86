import { Command } from 'commander';
import { version } from '../../../host/package.ts';
import { examples, exitCodes } from '../command-options.ts';

/** Describes `council` for help; mcp.ts parses the flags of its server. */
export function createCouncil(): Command {
  const council = new Command('council')
    .description('a council of agents: several answer one request together')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .allowExcessArguments()
    .allowUnknownOption()
    .addHelpText('after', examples(['council mcp --help']))
    .action(() => {
      process.stderr.write(`${startupError}\n`);
      process.exitCode = exitCodes.error;
    });
  council
    .command('mcp')
    .description('serve the council on stdin and stdout, for an MCP client')
    .option('-n, --agent-name <name>', 'the name of the agent that is served')
    .option(
      '-f, --format <format>',
      'format of answers: markdown (default) or json'
    )
    .option('--workspace <dir>', 'the project, for agents that are summoned')
    .option('--config <file>', 'configuration file')
    .option('--engines <names>', 'engines to summon, comma separated')
    .option('--max-access <level>', 'ceiling for agents: read, write or full')
    .option(
      '--trust',
      'obey all settings of the workspace (docs/guides/trust.md)'
    )
    .helpOption('-h, --help', 'print help')
    .addHelpText(
      'after',
      examples([
        'claude mcp add council -- council mcp -n claude',
        'council mcp -n codex -f json'
      ])
    );
  return council;
}

const startupError =
  'Startup error: you need to run council mcp in order to start the mcp server';

/** Describes `troupe mcp` for help; mcp.ts parses its flags. */
export function addMcpHelp(program: Command): void {
  program
    .command('mcp')
    .description('serve MCP on stdin and stdout, for an MCP client to start')
    .option(
      '--workspace <dir>',
      "the project (default: CLAUDE_PROJECT_DIR, else the current directory, else the client's root)"
    )
    .option('--config <file>', 'configuration file')
    .option('--toolsets <names>', 'tools to serve, comma separated')
    .option('--engines <names>', 'offer only these engines, comma separated')
    .option(
      '--on-disconnect <what>',
      'keep or stop running agents when the client disconnects'
    )
    .option('--max-access <level>', 'ceiling for agents: read, write or full')
    .option('--strict', 'do not start if anything is left out')
    .option(
      '--trust',
      'obey all settings of the workspace (docs/guides/trust.md)'
    )
    .option('--agent-id <id>', 'serve this worker, with --toolsets worker')
    .optionsGroup('Squads (docs/guides/squads.md):')
    .option('--engine <name>', 'engine of members (default: claude)')
    .option('--state-mode <mode>', 'stateless, or stateful: with chats')
    .option('--agents-directory-path <dir>', 'role files (default: agents)')
    .option('--engine-command <program>', "instead of the engine's own")
    .option('--run-template-path <file>', 'how a member is started')
    .option('--create-chat-template-path <file>', 'how a chat is made')
    .option('--process-timeout-ms <n>', 'limit of a member (default: 600000)')
    .option('--execution-mode <mode>', 'parallel or sequential')
    .option('--sequential-delay-ms <n>', 'pause between members (default: 100)')
    .optionsGroup('HTTP instead of stdin and stdout (docs/guides/http.md):')
    .option(
      '--http [address]',
      '[[host:]port], 0: any port (default: 127.0.0.1:8377)'
    )
    .option('--allow-host <names>', 'Host names that clients may use')
    .option('--allow-origin <origins>', 'origins of pages that may call')
    .addHelpText(
      'after',
      examples([
        'claude mcp add agents -- troupe mcp',
        'troupe mcp',
        'troupe mcp --http 8377'
      ])
    );
}

/** Describes `troupe web` for help; web.ts parses its flags. */
export function addWebHelp(program: Command): void {
  program
    .command('web')
    .description('all agents on a live page in the browser')
    .option('--port <n>', 'where to serve (default: the last, or any free one)')
    .option('--host <address>', 'which to listen on (default: 127.0.0.1)')
    .option('--allow-host <names>', 'Host names that browsers elsewhere use')
    .option('--no-open', 'do not open a browser')
    .option(
      '--link <scope>',
      'print another link to the running page: look, or act'
    )
    .option(
      '--workspace <dir>',
      'the project (default: CLAUDE_PROJECT_DIR, else the current directory)'
    )
    .option('--config <file>', 'configuration file')
    .option('--engines <names>', 'offer only these engines, comma separated')
    .option('--max-access <level>', 'ceiling for agents: read, write or full')
    .option(
      '--trust',
      'obey all settings of the workspace (docs/guides/trust.md)'
    )
    .addHelpText(
      'after',
      examples([
        'troupe web',
        'troupe web --port 8378 --no-open',
        'troupe web --link look   # for a person who only looks'
      ])
    );
}

/** Describes `troupe statusline`; statusline-entry.ts is the command. */
export function addStatuslineHelp(program: Command): void {
  program
    .command('statusline')
    .description('one line about the agents of a workspace; a status line')
    .addHelpText(
      'after',
      `
Reads the JSON that Claude Code writes to the command of its status line, and
prints the agents at work, the unread results and the cost of the last 24 hours.
${examples(['echo \'{"cwd": "/home/you/project"}\' | troupe statusline'])}`
    );
}
