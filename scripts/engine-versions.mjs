/** The packages of the agents' programs, at the versions that are tested. */
export const versions = {
  claude: { package: '@anthropic-ai/claude-code', version: '2.1.329' },
  codex: { package: '@openai/codex', version: '0.169.0' },
  copilot: { package: '@github/copilot', version: '1.0.102' },
  'gemini-cli': { package: '@google/gemini-cli', version: '0.61.0' }
};

/** A program whose files ours reads; there for one platform each. */
export const peers = {
  council: { package: 'agents-council-linux-x64', version: '0.4.0' }
};
