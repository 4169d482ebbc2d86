import { draftOf } from '../drafts.mjs';
import { counted, moment } from '../format.mjs';
import { html } from '../html.mjs';
import { confirm } from '../parts/dialog.mjs';
import { Empty, Loading } from '../parts/empty.mjs';
import { useData } from '../parts/load.mjs';
import { PromptForm } from '../parts/prompt-form.mjs';
import { Status } from '../parts/status.mjs';
import { isAbove, mayAct, perform, send } from '../session.mjs';
import { about, allRows, isOverWorker, message, watchRows } from '../store.mjs';

export function Workers() {
  watchRows();
  const stamp = JSON.stringify(
    allRows().filter(({ kind }) => kind === 'worker')
  );
  const { data, error } = useData('/web/workers', stamp);
  return html`
    <header class="top"><div><h1>Workers</h1><p class="summary">Long-lived agents with a queue of tasks.</p></div></header>
    ${data ? null : html`<${Loading} error=${error} />`}
    ${data?.workers.length === 0 ? html`<${Empty} title="There are no workers."><p>A client opens one with the tool <code>agent_create</code> (<code>--toolsets all</code>).</p><//>` : null}
    ${data?.workers.map((worker) => html`<${Worker} key=${worker.agent_id} worker=${worker} />`)}`;
}

function Worker({ worker }) {
  const { agent_id: id, events } = worker;
  const isOver = isOverWorker(worker);
  return html`
    <section class="worker" aria-labelledby=${id}>
      <div class="section-head">
        <h2 id=${id}>${worker.name}</h2>
        <${Status} of=${worker.status} />
        <span class="id">${id}</span>
        <span class="note">${worker.engine}, ${worker.access}, ${worker.backend === 'tmux' ? 'in a pane' : 'in the background'}</span>
        ${isOver || !mayAct() ? null : html`<button class="button small danger" onClick=${() => stop(worker)}>Stop…</button>`}
      </div>
      <p class="role">${worker.role}</p>
      <div class="columns">
        <${Tasks} worker=${worker} isOver=${isOver} />
        <div>
          <h3>Reports <span class="count">${counted(events.length, 'event')}</span></h3>
          ${events.length === 0 ? html`<p class="note">It has reported nothing yet.</p>` : html`<ul class="events" tabindex="0" aria-label=${`Reports of ${worker.name}`}>${[...events].reverse().map((event) => html`<li key=${event.seq}><span class="num when" title=${moment(event.at)}>${moment(event.at).slice(11)}</span> <span class="type">${event.type}</span> ${event.task_id ? html`<code>${event.task_id}</code>` : null} <span class="words">${event.payload}</span></li>`)}</ul>`}
        </div>
      </div>
    </section>`;
}

function Tasks({ worker, isOver }) {
  const { tasks, tasks_total: total } = worker;
  return html`
    <div>
      <h3>Tasks <span class="count">${total}</span></h3>
      ${tasks.length === 0 ? html`<p class="note">Its queue is empty.</p>` : html`<ul class="tasks">${tasks.map((task) => html`<${Task} key=${task.task_id} worker=${worker} task=${task} />`)}</ul>`}
      ${total > tasks.length ? html`<p class="note">${counted(total - tasks.length, 'later task')} not shown.</p>` : null}
      ${mayAct() ? html`<${NextTask} worker=${worker} isOver=${isOver} />` : null}
    </div>`;
}

function Task({ worker, task }) {
  const { id, what, is_running: isRunning, is_cancel_wanted: isWanted } = task;
  return html`
    <li>
      <div class="task-head">
        <code>${id}</code>
        ${isRunning ? html`<${Status} of="running" />` : html`<span class="note">waiting</span>`}
        ${isWanted ? html`<span class="note">asked to give up</span>` : null}
        ${isWanted || !mayAct() ? null : html`<button class="button small danger" aria-label=${`Cancel task ${id}`} onClick=${() => cancelTask(worker, task)}>Cancel…</button>`}
      </div>
      <p class="one-line" title=${what}>${what}</p>
    </li>`;
}

function NextTask({ worker, isOver }) {
  const { agent_id: id, name, access } = worker;
  const key = `task ${id}`;
  if (isOver && draftOf(key).text.value === '') return null;
  const submit = (text, taskId) =>
    perform(
      () => send(`/web/workers/${id}/tasks`, { task_id: taskId, text }),
      ({ position }) =>
        position > 0
          ? `${name} has the task, after ${counted(position, 'other')}.`
          : `${name} has the task.`
    );
  return html`<${PromptForm} draft=${key} placeholder="The next task" label=${`The next task for ${name}`} button="Send"
    note=${`It has ${access} access.`} refusal=${whyNoTask(worker, isOver)} submit=${submit} />`;
}

function whyNoTask({ access, status, is_stopping: isStopping }, isOver) {
  if (isOver) return `It is ${status}, and takes no task.`;
  if (isStopping)
    return 'It stops once its tasks are done, and takes no other.';
  if (isAbove(access))
    return `The configuration allows ${about.value.max_access} access, so that no task can be sent here.`;
  return undefined;
}

function cancelTask({ agent_id: id, name }, task) {
  confirm({
    title: `Cancel task ${task.id}?`,
    yes: 'Cancel task',
    no: 'Keep it',
    act: () =>
      perform(
        () => send(`/web/workers/${id}/cancel`, { task_id: task.task_id }),
        ({ state }) =>
          state === 'canceled'
            ? `Task ${task.id} is canceled.`
            : `${name} is asked to give up task ${task.id}.`
      ),
    content: html`
      <p class="quote">${task.what}</p>
      <p>${task.is_running ? `${name} is asked to end it at its next safe point.` : `${name} never gets it.`}</p>`
  });
}

function stop({ agent_id: id, name, tasks_total: total }) {
  const act = (fields) => {
    const force = fields.get('how') === 'at once';
    message.value = { text: `${name} is asked to stop …`, isError: false };
    return perform(
      () => send(`/web/workers/${id}/stop`, { force }),
      ({ status }) =>
        status === 'stopped' || status === 'crashed'
          ? `${name} is ${status}.`
          : `${name} stops once its tasks are done.`
    );
  };
  const choice = (value, words, isFirst) =>
    html`<label class="choice"><input type="radio" name="how" value=${value} checked=${isFirst} /> ${words}</label>`;
  confirm({
    title: `Stop ${name}?`,
    yes: 'Stop worker',
    no: 'Keep it',
    act,
    content: html`
      <p>It takes no other task, and its program is ended. Its files stay.</p>
      ${choice('later', total === 0 ? 'Let it end by itself' : `Let it do its ${counted(total, 'task')} first`, true)}
      ${choice('at once', total === 0 ? 'End it at once' : 'End it at once; its tasks are canceled', false)}`
  });
}
