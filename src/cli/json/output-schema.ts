import { z } from 'zod';
import { hostErrorCodes } from '../../core/errors.ts';
import {
  cancelDocument,
  listDocument,
  resultDocument,
  runDocument,
  waitDocument
} from './agent-document.ts';
import { cleanDocument, diskDocument } from './clean-document.ts';
import {
  configDocument,
  doctorDocument,
  enginesDocument,
  roleDocument,
  rolesDocument
} from './facts-document.ts';
import { initDocument } from './init-document.ts';
import { headsDocument, logLine, verifyDocument } from './log-document.ts';
import { orphansDocument, recordDocument } from './record-document.ts';
import {
  trustDocument,
  trustListDocument,
  trustRevokeDocument
} from './trust-document.ts';
import { watchDocument } from './watch-document.ts';

/** One line, instead of a document, when nothing could be done. */
const errorDocument = z.strictObject({
  error: z.strictObject({
    code: z.enum(hostErrorCodes),
    message: z.string(),
    hint: z.string()
  })
});

/** What commands print with `--json`, by the name that it has in the schema. */
export const outputDocuments = {
  cancel: cancelDocument,
  clean: cleanDocument,
  clean_disk: diskDocument,
  clean_orphans: orphansDocument,
  config: configDocument,
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
  trust: trustDocument,
  trust_list: trustListDocument,
  trust_revoke: trustRevokeDocument,
  wait: waitDocument,
  watch: watchDocument
};

/**
 * The same as JSON Schema. Keys may be added to any of them later, so that
 * others than those that are told are no fault.
 */
export function outputSchema() {
  const $defs = Object.fromEntries(
    Object.entries(outputDocuments).map(([name, schema]) => {
      const { $schema, ...rest } = z.toJSONSchema(schema, {
        override: ({ jsonSchema }) => {
          if (jsonSchema.additionalProperties === false)
            delete jsonSchema.additionalProperties;
          // The format says it in a word.
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
      'One definition a command. docs/command-line.md says when which one comes. Keys may be added later; none is renamed or removed.',
    $defs
  };
}
