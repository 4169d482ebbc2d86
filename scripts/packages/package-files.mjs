/**
 * The files of this repository that clients and registries read to install
 * troupe, generated from package.json and prompts/.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  agentSkill,
  claudeCommand,
  geminiCommand,
  readPrompts
} from './slash-commands.mjs';

/** Clients build tool names from both, so they are short, without `_`. */
const server = 'agents';
export const title = 'troupe';

/** One folder for Claude Code, Copilot CLI and Codex. */
const plugin = 'integrations/plugin';
const gemini = 'integrations/gemini';

/** Short, because registries show one line. */
export const summary =
  'Start, follow and combine coding agents of any maker, with an audit trail.';

/** The key variables of the API engines, and the tool that needs each. */
export const keys = [
  ['XAI_API_KEY', 'xAI', 'spawn_grok'],
  ['GEMINI_API_KEY', 'Gemini', 'spawn_gemini'],
  ['MISTRAL_API_KEY', 'Mistral', 'spawn_mistral'],
  ['OPENAI_API_KEY', 'OpenAI', 'spawn_openai'],
  ['ANTHROPIC_API_KEY', 'Anthropic', 'spawn_claude_api']
].map(([name, maker, tool]) => ({ name, maker, tool }));

/**
 * @param {string} root
 * @param about the content of package.json, or of a later version of it
 * @returns {Map<string, string>} path → text
 */
export function packageFiles(root, about = aboutIn(root)) {
  const prompts = readPrompts(join(root, 'prompts'));
  const author = { name: 'the troupe contributors' };
  const launch = launchOf(about);
  const manifest = {
    name: title,
    version: about.version,
    description: summary,
    author,
    license: about.license,
    keywords: about.keywords
  };
  const files = new Map();
  const json = (path, value) =>
    files.set(path, `${JSON.stringify(value, null, 2)}\n`);

  json('.claude-plugin/marketplace.json', {
    name: title,
    description: summary,
    owner: author,
    plugins: [
      {
        name: title,
        source: `./${plugin}`,
        description: summary,
        version: about.version,
        author,
        license: about.license,
        category: 'development',
        keywords: about.keywords
      }
    ]
  });
  json(`${plugin}/.claude-plugin/plugin.json`, {
    ...manifest,
    mcpServers: { [server]: { type: 'stdio', ...launch } }
  });
  json(`${plugin}/.codex-plugin/plugin.json`, {
    ...manifest,
    skills: './agent-skills/',
    mcpServers: { [server]: { ...launch, ...codexLimits } },
    interface: {
      displayName: title,
      shortDescription: summary,
      developerName: author.name,
      category: 'Developer Tools',
      capabilities: ['Interactive', 'Write'],
      defaultPrompt: ['Delegate this task to another coding agent: ']
    }
  });
  json(`${plugin}/.github/plugin/plugin.json`, {
    ...manifest,
    skills: './agent-skills/',
    // Without `cwd`, the server starts in the folder of the plugin.
    mcpServers: {
      [server]: { type: 'local', ...launch, cwd: '.', tools: ['*'] }
    }
  });
  json(`${gemini}/gemini-extension.json`, {
    name: title,
    version: about.version,
    description: summary,
    mcpServers: { [server]: { ...launch, timeout: 600_000 } }
  });
  for (const prompt of prompts) {
    const { name } = prompt;
    files.set(`${plugin}/commands/${name}.md`, claudeCommand(prompt));
    files.set(`${plugin}/agent-skills/${name}/SKILL.md`, agentSkill(prompt));
    files.set(
      `${gemini}/commands/${title}/${name}.toml`,
      geminiCommand(prompt)
    );
  }
  json('server.json', registryEntry(about));
  return files;
}

function aboutIn(root) {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
}

/**
 * How a plugin or an extension starts the server. It does not know the path of
 * the package, and must not run a registry package of another owner: until the
 * package is published, `troupe` has to be on PATH.
 */
function launchOf({ name, private: isPrivate }) {
  return isPrivate
    ? { command: 'troupe', args: ['mcp'] }
    : { command: 'npx', args: ['-y', name, 'mcp'] };
}

/** docs/start/clients.md explains these settings. */
const codexLimits = {
  env_vars: [
    ...keys.map(({ name }) => name),
    ...['CODEX_API_KEY', 'CODEX_HOME', 'TMUX', 'TMUX_PANE']
  ],
  startup_timeout_sec: 30,
  tool_timeout_sec: 600
};

/**
 * The entry of the MCP Registry, which compares `name` with `mcpName` in the
 * package. It names no package until that is published.
 */
function registryEntry({ name, version, mcpName, private: isPrivate }) {
  return {
    $schema:
      'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: mcpName,
    title,
    description: summary,
    version,
    ...(isPrivate ? {} : { packages: [npmPackage(name, version)] })
  };
}

function npmPackage(name, version) {
  return {
    registryType: 'npm',
    identifier: name,
    version,
    runtimeHint: 'npx',
    transport: { type: 'stdio' },
    packageArguments: [{ type: 'positional', value: 'mcp' }],
    environmentVariables: keys.map((key) => ({
      name: key.name,
      description: `Key of the ${key.maker} API, for ${key.tool}`,
      isRequired: false,
      isSecret: true
    }))
  };
}
