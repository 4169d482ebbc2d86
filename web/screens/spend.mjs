import { counted, csvOf, dollars, duration } from '../format.mjs';
import { html } from '../html.mjs';
import { Empty, Loading } from '../parts/empty.mjs';
import { useData } from '../parts/load.mjs';
import { query, setQuery } from '../router.mjs';
import { saveFile } from '../save.mjs';
import { totals } from '../store.mjs';

const ranges = [1, 7, 30, 90];

export function Spend() {
  const days = Number(query.value.get('days') ?? 30);
  const { data, error } = useData(
    `/web/spend?days=${days}`,
    totals.value?.value.today.ended
  );
  const sum = data ? sumOf(data.by_day) : undefined;
  return html`
    <header class="top">
      <div>
        <h1>Spend</h1>
        <p class="summary">${sum ? html`<strong class="num">${costOf(sum)}</strong> for ${counted(sum.agents, 'agent')} that ended since ${data.since} (UTC)` : 'What ended agents cost, as their engines reported it.'}</p>
      </div>
      <div class="tools range" role="group" aria-label="Days">
        ${ranges.map((range) => html`<button class="button small" aria-pressed=${range === days} onClick=${() => setQuery('days', range === 30 ? '' : String(range))}>${range === 1 ? 'Today' : `${range} days`}</button>`)}
      </div>
    </header>
    ${data ? null : html`<${Loading} error=${error} />`}
    ${sum?.agents === 0 ? html`<${Empty} title="No agent has ended in these days." />` : null}
    ${
      sum && sum.agents > 0
        ? html`
          <${Table} title="By day" first="Day" sums=${data.by_day} since=${data.since} />
          <${Table} title="By engine" first="Engine" sums=${data.by_engine} since=${data.since} />
          <${Table} title="By model" first="Model" sums=${data.by_model} since=${data.since} />
          ${data.by_squad.length > 0 ? html`<${Table} title="By squad" first="Squad" sums=${data.by_squad} since=${data.since} />` : null}
          <p class="note">An unknown cost is not counted as zero: it is counted apart.</p>`
        : null
    }`;
}

function sumOf(sums) {
  const add = (name) =>
    sums.reduce((total, one) => total + (one[name] ?? 0), 0);
  const isKnown = sums.some(({ cost_usd: cost }) => cost !== null);
  return {
    agents: add('agents'),
    cost_usd: isKnown ? add('cost_usd') : null,
    costs_unknown: add('costs_unknown')
  };
}

function costOf({ cost_usd: cost, costs_unknown: unknown }) {
  if (cost === null) return 'unknown';
  return dollars(cost) + (unknown > 0 ? ` + ${unknown} unknown` : '');
}

function save(name, first, sums) {
  const head = ['Cost in USD', 'Unknown costs', 'Agents', 'Not completed'];
  const rows = sums.map((one) => [
    ...[one.key, one.cost_usd, one.costs_unknown, one.agents],
    ...[one.not_completed, one.tokens, one.seconds]
  ]);
  const table = [[first, ...head, 'Tokens', 'Seconds'], ...rows];
  saveFile(name, csvOf(table), 'text/csv;charset=utf-8');
}

function Table({ title, first, sums, since }) {
  const id = title.replaceAll(' ', '-').toLowerCase();
  const most = Math.max(...sums.map(({ cost_usd: cost }) => cost ?? 0), 0);
  return html`
    <section aria-labelledby=${id}>
      <div class="section-head">
        <h2 id=${id}>${title}</h2>
        <button class="button small" aria-label=${`Save as CSV, ${title.toLowerCase()}`} onClick=${() => save(`troupe-spend-${id}-since-${since}.csv`, first, sums)}>Save as CSV</button>
      </div>
      <div class="scroll" tabindex="0" role="group" aria-label=${`${title}, a table`}>
        <table class="grid spend">
          <thead><tr><th>${first}</th><th class="right">Cost</th><th class="bar-head"><span class="hidden">Share</span></th><th class="right">Agents</th><th class="right">Not completed</th><th class="right">Tokens</th><th class="right">Time</th></tr></thead>
          <tbody>${sums.map(
            (one) => html`
            <tr key=${one.key}>
              <td class="key">${one.key}</td>
              <td class="right num">${costOf(one)}</td>
              <td class="bar-cell"><span class="bar" style=${{ width: `${most > 0 ? (100 * (one.cost_usd ?? 0)) / most : 0}%` }}></span></td>
              <td class="right num">${one.agents}</td>
              <td class="right num">${one.not_completed || ''}</td>
              <td class="right num">${one.tokens.toLocaleString('en')}</td>
              <td class="right num">${duration(one.seconds)}</td>
            </tr>`
          )}</tbody>
        </table>
      </div>
    </section>`;
}
