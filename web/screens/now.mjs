import { computed } from '@preact/signals';
import { counted, dollars } from '../format.mjs';
import { html } from '../html.mjs';
import { canNotify, notifyMe } from '../notify.mjs';
import { AskCard } from '../parts/ask-card.mjs';
import { Empty } from '../parts/empty.mjs';
import { AgentRows } from '../parts/rows.mjs';
import { Status } from '../parts/status.mjs';
import { query, setQuery } from '../router.mjs';
import { groups, isLoaded, rowOf, totals, watchRows } from '../store.mjs';

const filter = computed(() => (query.value.get('filter') ?? '').toLowerCase());

/** The groups that match the filter. */
const shown = computed(() => {
  const words = filter.value;
  if (words === '') return groups.value;
  watchRows();
  return Object.fromEntries(
    Object.entries(groups.value).map(([name, rows]) => [
      name,
      rows.filter(({ id }) => textOf(rowOf(id)?.peek() ?? {}).includes(words))
    ])
  );
});

/** The texts that a filter searches. */
function textOf(row) {
  const { squad, ...own } = row;
  return [own, squad ?? {}]
    .flatMap(Object.values)
    .filter((value) => typeof value === 'string')
    .join('\n')
    .toLowerCase();
}

export function Now() {
  const all = shown.value;
  const isFiltered = filter.value !== '';
  const isEmpty = Object.values(all).every((rows) => rows.length === 0);
  return html`
    <header class="top">
      <div>
        <h1>Now</h1>
        <${Summary} />
      </div>
      <div class="tools">
        ${canNotify.value ? html`<button class="button small" onClick=${notifyMe}>Notify me</button>` : null}
        <input type="search" class="filter" placeholder="Filter  /" aria-label="Filter agents"
          value=${query.value.get('filter') ?? ''}
          onInput=${({ target }) => setQuery('filter', target.value)} />
      </div>
    </header>
    ${isEmpty ? html`<${Nothing} isFiltered=${isFiltered} />` : null}
    ${
      all.ask.length + all.failed.length > 0
        ? html`<section class="needs" aria-labelledby="needs">
            <h2 id="needs">Needs you</h2>
            <div class="asks">${all.ask.map(({ id }) => html`<${AskCard} key=${id} id=${id} />`)}</div>
            ${all.failed.length > 0 ? html`<${AgentRows} rows=${all.failed} label="Failed and not opened yet" />` : null}
          </section>`
        : null
    }
    <${Section} title="Running" rows=${all.running} />
    <${Section} title="Queued" rows=${all.queued} />
    <${Workers} rows=${all.workers} />
    <${Section} title="Ended" rows=${all.ended} />`;
}

function Section({ title, rows }) {
  if (rows.length === 0) return null;
  const id = `group-${title.toLowerCase()}`;
  return html`
    <section aria-labelledby=${id}>
      <h2 id=${id}>${title} <span class="count">${rows.length}</span></h2>
      <${AgentRows} rows=${rows} label=${title} />
    </section>`;
}

function Workers({ rows }) {
  if (rows.length === 0) return null;
  return html`
    <section aria-labelledby="group-workers">
      <h2 id="group-workers">Workers <span class="count">${rows.length}</span></h2>
      <div class="table workers">
        <ul class="rows" aria-label="Workers">
          ${rows.map(({ id }) => html`<${WorkerRow} key=${id} id=${id} />`)}
        </ul>
      </div>
    </section>`;
}

function WorkerRow({ id }) {
  const row = rowOf(id)?.value;
  if (!row) return null;
  const { status, name, engine, role, running_task_id: task } = row;
  return html`
    <li><a class="row" href="/workers" data-row=${row.agent_id}>
      <span class="cell state"><${Status} of=${status} /></span>
      <span class="cell id">${row.agent_id}</span>
      <span class="cell engine">${engine}</span>
      <span class="cell task"><span class="what">${name}</span><span class="doing"><span class="words">${task === null ? role : `at task ${task}`}</span></span></span>
      <span class="cell right">${row.queue_depth > 0 ? `${row.queue_depth} queued` : ''}</span>
    </a></li>`;
}

function Summary() {
  const { today, settling } = totals.value?.value ?? {};
  const { running, queued, ask, workers } = groups.value;
  if (!today) return html`<p class="summary">Loading …</p>`;
  const cost =
    today.cost_usd === null
      ? 'cost unknown'
      : `${dollars(today.cost_usd)}${today.costs_unknown > 0 ? ` + ${today.costs_unknown} unknown` : ''}`;
  const parts = [
    `${running.length} running`,
    ...(ask.length > 0 ? [counted(ask.length, 'ask')] : []),
    ...(queued.length > 0 ? [`${queued.length} queued`] : []),
    ...(workers.length > 0 ? [counted(workers.length, 'worker')] : []),
    ...(settling > 0 ? [`${settling} being recorded`] : [])
  ];
  const ended =
    today.ended === 0
      ? 'none ended'
      : `${today.ended} ended${today.not_completed > 0 ? `, ${today.not_completed} not completed` : ''}, ${cost}`;
  return html`<p class="summary">${parts.join(', ')} <span class="today">Today (UTC): ${ended}</span></p>`;
}

function Nothing({ isFiltered }) {
  if (!isLoaded.value) return null;
  if (isFiltered)
    return html`<${Empty} title="No agent matches the filter."><p>Esc shows all.</p><//>`;
  if (totals.value?.value.is_unused === false)
    return html`<${Empty} title="Nothing is running."><p>New agents appear here by themselves.</p><//>`;
  return html`
    <${Empty} title="There are no agents in this workspace yet.">
      <p>Start one in a terminal:</p>
      <pre class="code">troupe run claude "explain this repository"</pre>
      <p>or ask a client that troupe is set up in to delegate something.</p>
    <//>`;
}
