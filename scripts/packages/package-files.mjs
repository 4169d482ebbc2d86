/**
 * What the clients and registries read of this repository to install troupe,
 * as it follows from package.json and prompts/: path → text.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  agentSkill,
  claudeCommand,
  geminiCommand,
  readPrompts
} from './slash-commands.mjs';

/** Clients build the names of tools from both: short, without underscores. */
const server = 'agents';
export const title = 'troupe';

/** One folder for Claude Code, Copilot CLI and Codex. */
const plugin = 'integrations/plugin';
const gemini = 'integrations/gemini';

/** In the file's own words, without what a registry's line has no room for. */
export const summary =
  'Start, follow and combine coding agents of any maker, with an audit trail.';

/** Keys of the API engines, the one that each engine is asked for by name. */
export const keys = [
  ['XAI_API_KEY', 'xAI', 'spawn_grok'],
  ['GEMINI_API_KEY', 'Gemini', 'spawn_gemini'],
  ['MISTRAL_API_KEY', 'Mistral', 'spawn_mistral'],
  ['OPENAI_API_KEY', 'OpenAI', 'spawn_openai'],
  ['ANTHROPIC_API_KEY', 'Anthropic', 'spawn_claude_api']
].map(([name, maker, tool]) => ({ name, maker, tool }));

/**
 * @param {string} root
 * @param about what package.json says, as it may say one day
 * @returns {Map<string, string>}
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
    // It starts in the plugin's folder otherwise.
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
 * How a plugin or an extension starts the server. It cannot know the path of
 * the package, and must not run a name of the registry that is not ours:
 * until the package is published, `troupe` has to be on PATH.
 */
function launchOf({ name, private: isPrivate }) {
  return isPrivate
    ? { command: 'troupe', args: ['mcp'] }
    : { command: 'npx', args: ['-y', name, 'mcp'] };
}

/** What docs/clients.md has Codex users set, and why. */
const codexLimits = {
  env_vars: [
    ...keys.map(({ name }) => name),
    ...['CODEX_API_KEY', 'CODEX_HOME', 'TMUX', 'TMUX_PANE']
  ],
  startup_timeout_sec: 30,
  tool_timeout_sec: 600
};

/**
 * Of the MCP Registry; it compares `name` with `mcpName` in the package. It
 * names no package before that is published.
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
