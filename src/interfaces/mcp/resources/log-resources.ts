import { lstatSync, type Stats } from 'node:fs';
import { inlineChars } from '../../../answers/format-run.ts';
import { slicePart } from '../../../answers/truncate.ts';
import { isOwnView, viewPath } from '../../../core/audit/views/view-file.ts';
import { errnoOf } from '../../../core/errors.ts';
import type { Paths } from '../../../core/paths/paths.ts';
import type { RecordIdentity } from '../../../core/paths/records.ts';
import { readSlice } from '../../../core/state/files/text-file.ts';
import { type Completion, suggest } from '../prompts/suggest.ts';
import { type ResourceRef, unknownResource } from './resource-uri.ts';
import {
  type Content,
  type Listed,
  type ReadRequest,
  type Source,
  type Template,
  textContents
} from './source.ts';

const mimeType = 'text/markdown';

const about = {
  'IAC.md': 'What agents were asked and said, the newest first',
  'CONTEXT.md': 'The agents that are at work'
};

/** The views for people: logs/IAC.md and logs/CONTEXT.md. */
export class LogResources implements Source {
  readonly templates: Template[] = [
    {
      uriTemplate: 'troupe://log/IAC.md{?offset}',
      name: 'iac-on',
      description: `${about['IAC.md']}, from a character on.`,
      mimeType
    }
  ];
  readonly #directory: string;
  readonly #identity: () => RecordIdentity;

  constructor({ views }: Pick<Paths, 'views'>, identity: () => RecordIdentity) {
    this.#directory = views.directory;
    this.#identity = identity;
  }

  list(): Listed[] {
    return Object.entries(about)
      .filter(([name]) => this.#fileOf(name))
      .map(([name, what]) => ({
        uri: `troupe://log/${name}`,
        name,
        title: what,
        description: `${what}. The file is logs/${name}.`,
        mimeType
      }));
  }

  listStamp(): string {
    return Object.keys(about)
      .filter((name) => this.#fileOf(name))
      .join();
  }

  async read(request: ReadRequest): Promise<Content[]> {
    const { id, offset = 0 } = request.ref;
    this.#check(request.ref);
    const path = this.#pathOf(id);
    const slice = await readSlice(path, offset, inlineChars);
    const part = slicePart('text', offset, slice);
    return textContents(part, mimeType, path, request);
  }

  stampOf(ref: ResourceRef): () => string {
    this.#check(ref);
    return () => {
      const file = this.#fileOf(ref.id);
      return file ? `${file.ino} ${file.mtimeMs} ${file.size}` : '';
    };
  }

  complete(_template: string, _variable: string, typed: string): Completion {
    return suggest(typed, []);
  }

  /** @throws ProtocolError */
  #check({ id, uri }: ResourceRef): void {
    if (this.#fileOf(id)) return;
    throw unknownResource(
      uri,
      `There is no logs/${id} in this workspace yet: it begins with the first agent.`
    );
  }

  /** Undefined for a link, and for a file that is not a view of this record. */
  #fileOf(name: string): Stats | undefined {
    try {
      const path = this.#pathOf(name);
      const file = lstatSync(path, { throwIfNoEntry: false });
      return file?.isFile() && isOwnView(path, this.#identity())
        ? file
        : undefined;
    } catch (error) {
      // A directory has the name of the view, or a file the name of its folder.
      if (['EISDIR', 'ENOTDIR'].includes(errnoOf(error) ?? ''))
        return undefined;
      throw error;
    }
  }

  #pathOf(name: string): string {
    const stem = name.replace(/\.md$/, '');
    return viewPath(this.#directory, stem, this.#identity());
  }
}
