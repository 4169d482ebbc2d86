import { z } from 'zod';
import { hostErrorCodes } from '../../core/errors.ts';
import {
  answerDocument,
  applyDocument,
  askDocument,
  asksDocument,
  cancelDocument,
  diffDocument,
  listDocument,
  resultDocument,
  runDocument,
  startedDocument,
  waitDocument,
  watchDocument
} from './agent-documents.ts';
import {
  cleanDocument,
  diskDocument,
  headsDocument,
  logLine,
  orphansDocument,
  recordDocument,
  verifyDocument
} from './record-documents.ts';
import {
  configDocument,
  doctorDocument,
  enginesDocument,
  initDocument,
  roleDocument,
  rolesDocument,
  trustDocument,
  trustListDocument,
  trustRevokeDocument
} from './setup-documents.ts';

/** Printed on one line, in place of a document, if a command fails. */
const errorDocument = z.strictObject({
  error: z.strictObject({
    code: z.enum(hostErrorCodes),
    message: z.string(),
    hint: z.string()
  })
});

/** The documents that commands print with `--json`, by name in the schema. */
export const outputDocuments = {
  answer: answerDocument,
  apply: applyDocument,
  ask: askDocument,
  asks: asksDocument,
  cancel: cancelDocument,
  clean: cleanDocument,
  clean_disk: diskDocument,
  clean_orphans: orphansDocument,
  config: configDocument,
  diff: diffDocument,
  doctor: doctorDocument,
  engines: enginesDocument,
  error: errorDocument,
  init: initDocument,
  list: listDocument,
  log: logLine,
  log_head: headsDocument,
  log_verify: verifyDocument,
  record: recordDocument,
  result: resultDocument,
  role: roleDocument,
  roles: rolesDocument,
  run: runDocument,
  run_background: startedDocument,
  trust: trustDocument,
  trust_list: trustListDocument,
  trust_revoke: trustRevokeDocument,
  wait: waitDocument,
  watch: watchDocument
};

/**
 * The documents as JSON Schema. Unknown keys are allowed, because keys may be
 * added to any document later.
 */
export function outputSchema() {
  const $defs = Object.fromEntries(
    Object.entries(outputDocuments).map(([name, schema]) => {
      const { $schema, ...rest } = z.toJSONSchema(schema, {
        override: ({ jsonSchema }) => {
          if (jsonSchema.additionalProperties === false)
            delete jsonSchema.additionalProperties;
          // The format implies the pattern.
          if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
        }
      });
      return [name, rest];
    })
  );
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'What the commands of troupe print with --json',
    description:
      'One definition per command. docs/guides/command-line.md says when each is printed. Keys may be added later; none is renamed or removed.',
    $defs
  };
}
