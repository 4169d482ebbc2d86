import { Command } from 'commander';
import { version } from '../../version.ts';
import { examples, exitCodes } from '../shared.ts';

/**
 * `council`, which starts a server and does nothing else. The server parses
 * its own flags (council-mcp.ts).
 */
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
    .option('-f, --format <format>', 'of answers: markdown (default) or json')
    .option('--workspace <dir>', 'the project, for agents that are summoned')
    .option('--config <file>', 'configuration file')
    .option('--engines <names>', 'what may be summoned, comma separated')
    .option('--max-access <level>', 'ceiling for agents: read, write or full')
    .option('--trust', 'obey all settings of the workspace (docs/trust.md)')
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
