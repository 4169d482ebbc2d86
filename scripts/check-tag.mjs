#!/usr/bin/env node
/**
 * Fails unless a tag may be published: `node scripts/check-tag.mjs v0.2.0`.
 * The tag has to be the version of package.json, with a section in
 * CHANGELOG.md; package.json must not be private, nor have a placeholder.
 */
import { readFileSync } from 'node:fs';

const [tag = ''] = process.argv.slice(2);
const {
  name,
  version,
  mcpName,
  private: isPrivate
} = JSON.parse(readFileSync('package.json', 'utf8'));
const changes = readFileSync('CHANGELOG.md', 'utf8');
const faults = [];

if (tag !== `v${version}`)
  faults.push(
    `The tag is ${JSON.stringify(tag)}, and package.json has ${version}.`
  );
if (!hasChanges())
  faults.push(`CHANGELOG.md has no section [${version}] with entries.`);
if (isPrivate)
  faults.push(`package.json is private: the npm name ${name} is not ours yet.`);
if (mcpName.includes('OWNER'))
  faults.push(`package.json has the placeholder OWNER in mcpName.`);

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

/** Whether the section of the version has entries. */
function hasChanges() {
  const [, ...sections] = changes.split(/^## /m);
  const section = sections.find((one) => one.startsWith(`[${version}]`));
  return section !== undefined && /^- /m.test(section);
}
