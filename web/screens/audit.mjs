import { useEffect, useState } from 'preact/hooks';
import { counted, dollars, duration, moment } from '../format.mjs';
import { html } from '../html.mjs';
import { Empty, Loading } from '../parts/empty.mjs';
import { useBusy, useData } from '../parts/load.mjs';
import { Status } from '../parts/status.mjs';
import { get, perform } from '../session.mjs';
import { totals } from '../store.mjs';

const names = { cancel_requested: 'cancel', finished: 'ended' };

export function Audit() {
  const { data, error } = useData(
    '/web/audit',
    totals.value?.value.stamps.journal
  );
  const [older, setOlder] = useState({ entries: [], next: undefined });
  const first = data?.next;
  // Older entries follow those of the first load; a longer journal moves both.
  useEffect(() => {
    if (older.entries.length === 0) setOlder({ entries: [], next: undefined });
  }, [first]);
  const next = older.next === undefined ? data?.next : older.next;
  const more = () =>
    perform(async () => {
      const found = await get(`/web/audit?before=${next}`);
      setOlder((before) => ({
        entries: [...before.entries, ...found.entries],
        next: found.next
      }));
    });
  const entries = distinct([...(data?.entries ?? []), ...older.entries]);
  return html`
    <header class="top">
      <div><h1>Audit</h1><p class="summary">What happened in this workspace, from the journal. Newest first.</p></div>
      <${Verification} />
    </header>
    ${data ? null : html`<${Loading} error=${error} />`}
    ${data && entries.length === 0 ? html`<${Empty} title="The journal has no entries yet." />` : null}
    ${
      entries.length === 0
        ? null
        : html`<div class="scroll" tabindex="0" role="region" aria-label="Journal"><table class="grid audit">
            <thead><tr><th>Time</th><th>Event</th><th>Agent</th><th>Engine</th><th>What</th></tr></thead>
            <tbody>${entries.map((entry) => html`<${Entry} key=${keyOf(entry)} entry=${entry} />`)}</tbody>
          </table></div>`
    }
    ${next === null || next === undefined ? null : html`<button class="button small" onClick=${more}>Earlier</button>`}`;
}

function keyOf({ writer, n, at, what }) {
  return `${writer} ${n} ${at} ${writer === '' ? what : ''}`;
}

function distinct(entries) {
  return [...new Map(entries.map((entry) => [keyOf(entry), entry])).values()];
}

/** Entries of the type `acted` have the id of a worker. */
function Entry({ entry }) {
  const { at, type, agent_id: id, engine, what, status } = entry;
  return html`
    <tr>
      <td class="num">${moment(at)}</td>
      <td>${status ? html`<${Status} of=${status} />` : (names[type] ?? type)}</td>
      <td>${id ? html`<a href=${type === 'acted' ? '/workers' : `/agents/${id}`} class="id">${id}</a>` : ''}</td>
      <td>${engine ?? ''}</td>
      <td class="what">${status ? html`<span class="note num">${[duration(entry.seconds), dollars(entry.cost_usd)].filter(Boolean).join(', ')}</span> ` : null}${what}</td>
    </tr>`;
}

function Verification() {
  const [found, setFound] = useState(undefined);
  const [isBusy, run] = useBusy();
  const verify = () =>
    run(() => perform(async () => setFound(await get('/web/audit/verify'))));
  const [fault] = found?.faults ?? [];
  return html`
    <div class="tools verification">
      ${
        found
          ? html`<span role="status" class=${found.ok ? 'good' : 'bad'}>${found.ok ? `Every chain holds: ${counted(found.records, 'record')}` : `First broken line: ${fault.file}:${fault.line}, ${fault.problem}`} <small class="num">at ${moment(found.verified_at).slice(11)}</small></span>`
          : null
      }
      <button class="button small" disabled=${isBusy} onClick=${verify}>Verify now</button>
    </div>`;
}
