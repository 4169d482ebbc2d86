import { lstatSync, type Stats } from 'node:fs';
import { isOwnView, viewPath } from '../../core/audit/view-file.ts';
import type { RecordIdentity } from '../../core/paths/identity.ts';
import type { Paths } from '../../core/paths/paths.ts';
import { slicePart } from '../../core/runs/parts.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { readSlice } from '../../core/state/text-file.ts';
import { type Completion, suggest } from './prompts/suggest.ts';
import { type Place, unknownResource } from './resource-uri.ts';
import type { Asked, Content, Listed, Source, Template } from './resources.ts';
import { textContents } from './text-contents.ts';

const mimeType = 'text/markdown';

const about = {
  'IAC.md': 'What agents were asked and said, the newest first',
  'CONTEXT.md': 'The agents that are at work'
};

/** The log that people read. */
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

  async read(asked: Asked): Promise<Content[]> {
    const { id, offset = 0 } = asked.place;
    this.#check(asked.place);
    const path = this.#pathOf(id);
    const slice = await readSlice(path, offset, inlineChars);
    const part = slicePart('text', offset, slice, ({ next, total }) => ({
      truncated: true,
      total_chars: total,
      ...(next === undefined ? {} : { next_offset: next })
    }));
    return textContents(part, mimeType, path, asked);
  }

  stampOf(place: Place): () => string {
    this.#check(place);
    return () => {
      const file = this.#fileOf(place.id);
      return file ? `${file.ino} ${file.mtimeMs} ${file.size}` : '';
    };
  }

  complete(_template: string, _variable: string, typed: string): Completion {
    return suggest(typed, []);
  }

  /** @throws ProtocolError */
  #check({ id, uri }: Place): void {
    if (this.#fileOf(id)) return;
    throw unknownResource(
      uri,
      `There is no logs/${id} in this workspace yet: it begins with the first agent.`
    );
  }

  /** Neither a link nor a log that the project brought along is shown. */
  #fileOf(name: string): Stats | undefined {
    const path = this.#pathOf(name);
    const file = lstatSync(path, { throwIfNoEntry: false });
    return file?.isFile() && isOwnView(path, this.#identity())
      ? file
      : undefined;
  }

  #pathOf(name: string): string {
    const stem = name.replace(/\.md$/, '');
    return viewPath(this.#directory, stem, this.#identity());
  }
}
