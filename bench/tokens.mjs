/**
 * Counts the tokens that the tools of each toolset take in the context of a
 * client, with a real tokenizer. The counts are the same in every run.
 */
import { row } from './statistics.mjs';
import { Client, createWorkspace, runBench } from './support.mjs';
import { countTokens, tokensOf } from './token-count.mjs';
import { startStage } from './worker-stage.mjs';

const reach = { limit: 3500, absolute: true };
const toolsets = ['spawn', 'runs', 'squad', 'council', 'orchestrator', 'all'];

await runBench(1, async (options) => {
  const workspace = createWorkspace();
  try {
    const standard = await offerOf(options, workspace);
    const others = [];
    for (const name of toolsets)
      others.push([
        name,
        await offerOf(options, workspace, '--toolsets', name)
      ]);
    others.push(['worker', await workerOffer(options)]);
    return reportOf(standard, others);
  } finally {
    workspace.remove();
  }
});

/** The instructions and the tools of a server. */
async function offerOf(options, workspace, ...flags) {
  const client = new Client(options, workspace, flags);
  const { result } = await client.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'troupe-bench', version: '1' }
  });
  const { tools } = (await client.request('tools/list')).result;
  await client.close();
  return { instructions: result.instructions, tools };
}

/** The server of a worker needs an existing worker. */
async function workerOffer(options) {
  const stage = await startStage(options, 'process');
  try {
    const id = await stage.create('Ada');
    const flags = ['--toolsets', 'worker', '--agent-id', id];
    const worker = await offerOf(options, stage.workspace, ...flags);
    await stage.end(id);
    return worker;
  } finally {
    await stage.close();
  }
}

function reportOf({ tools, instructions }, others) {
  const { sent, whole } = tokensOf(tools);
  const name = `default, ${tools.length} tools`;
  return {
    title: 'Tokens of the tool list',
    rows: [
      rowOf(`${name}: as clients hand them to a model`, sent, {
        ...reach,
        summary: `tokens of the tool list, ${name}, as clients hand it to a model`
      }),
      rowOf(`${name}: all of \`tools/list\``, whole, {
        ...reach,
        summary: `tokens of the tool list, ${name}, all of it`
      }),
      rowOf('default: instructions of the server', countTokens(instructions)),
      ...others.flatMap(([name, { tools }]) => rowsOf(name, tools))
    ],
    notes: [
      'Counted by o200k_base, in JSON without spaces. The same in every run: a test holds each toolset to its figure.',
      'Claude Code, Codex, Copilot CLI and Gemini CLI hand name, description and input schema of a tool to their model, and keep title and annotations. Claude Code and Codex hand on names only, until their model looks for a tool.'
    ]
  };
}

function rowsOf(toolset, tools) {
  const { sent, whole, largest } = tokensOf(tools);
  const count = `${tools.length} tools`;
  return [
    rowOf(
      `${toolset}, ${count}, ${largest.name} the largest with ${largest.sent}`,
      sent
    ),
    rowOf(`${toolset}, ${count}: all of \`tools/list\``, whole)
  ];
}

function rowOf(name, tokens, more) {
  return row(name, [tokens], { unit: 'tokens', ...more });
}
