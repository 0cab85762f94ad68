//! `fiberscope work`

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fiberscope::dimension::{Device, DeviceChoice};
use fiberscope::limit::{Deadline, Stop};
use fiberscope::tasks::{Merged, Plan, Results, Task, TaskError};
use fiberscope_io::{Lease, WorkFolder, Worker};
use serde_json::json;

use super::args::WorkArgs;
use super::gathering::Gathering;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

/// How long a task runs without being asked otherwise.
const SLICE: f64 = 60.0;
/// How often a worker that waits looks for tasks.
const LOOK: Duration = Duration::from_millis(200);
/// How often limits are looked at while a task is done.
const TICK: Duration = Duration::from_millis(50);

pub fn run(args: &WorkArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let folder = WorkFolder::open(&args.folder, Duration::from_secs_f64(args.lease))?;
    let (bytes, file) = folder.plan()?;
    let plan = Plan::from_bytes(bytes).with_context(|| file.display().to_string())?;
    if args.device != DeviceChoice::Cpu && !plan.eliminates() {
        bail!(
            "--device {}: {} is a plan for {}, whose tasks run on the processor; expected one for funcdim",
            args.device,
            file.display(),
            plan.kind()
        );
    }
    let device = Device::open(args.device).with_context(|| format!("--device {}", args.device))?;
    if let Some(why) = device.fallback() {
        output.note(&format!("--device {}: the processor does the work, since {why}", args.device));
    }
    let mut shop = Shop {
        device,
        folder: &folder,
        plan: &plan,
        gathering: Gathering::new(&folder, &plan),
        worker: Worker::here(),
        slice: args.slice.unwrap_or(SLICE),
        limits: global.deadline(),
        output,
        done: 0,
    };
    match args.task {
        Some(number) => {
            shop.slice = args.slice.unwrap_or(f64::INFINITY);
            shop.one(number, args)
        }
        None => shop.all(args),
    }
}

struct Shop<'a> {
    folder: &'a WorkFolder,
    plan: &'a Plan,
    gathering: Gathering<'a>,
    worker: Worker,
    device: Device,
    slice: f64,
    limits: Deadline,
    output: &'a Output,
    done: usize,
}

impl Shop<'_> {
    /// Does tasks until none is left or a limit comes.
    fn all(&mut self, args: &WorkArgs) -> anyhow::Result<Answer> {
        loop {
            let missing = self.missing()?;
            if missing.is_empty() {
                return self.end(args, 0);
            }
            if self.limits.is_past() {
                return self.end(args, missing.len());
            }
            let before = self.done;
            // Workers begin at different places, so that they seldom ask for the same task.
            let start = std::process::id() as usize % missing.len();
            let (first, last) = missing.split_at(start);
            for task in last.iter().chain(first) {
                if let Some(lease) = self.folder.take(&task.name, &self.worker)? {
                    self.work(task, lease)?;
                }
                if self.limits.is_past() {
                    break;
                }
            }
            if self.done > before || self.limits.is_past() {
                continue;
            }
            let mut took = false;
            for task in &missing {
                if let Some(lease) = self.folder.take_over(&task.name, &self.worker)? {
                    self.work(task, lease)?;
                    took = true;
                    break;
                }
            }
            if !took && self.offer(&missing)? == 0 {
                self.output.progress(&format!("waiting for {} tasks of other workers", missing.len()));
                thread::sleep(LOOK);
            }
        }
    }

    /// Does one task of the plan.
    fn one(&mut self, number: usize, args: &WorkArgs) -> anyhow::Result<Answer> {
        let tasks = match Results::new(self.plan).missing()? {
            Merged::Missing(tasks) => tasks,
            Merged::Answer(_) | Merged::Known => Vec::new(),
        };
        let Some(task) = number.checked_sub(1).and_then(|at| tasks.get(at)) else {
            bail!("--task {number}: the plan has tasks 1 to {}", tasks.len());
        };
        loop {
            self.gathering.look()?;
            if self.gathering.has(&task.name) {
                let left = self.missing()?;
                let text = format!("task {number} is done; {}\n", left_over(left.len(), args));
                let value = json!({"done": self.done, "left": left.len(), "complete": left.is_empty()});
                self.output.result(&text, &value)?;
                return Ok(Answer::Yes);
            }
            if self.limits.is_past() {
                return self.end(args, 1);
            }
            self.lay_aside()?;
            let lease = match self.folder.take(&task.name, &self.worker)? {
                Some(lease) => Some(lease),
                None => self.folder.take_over(&task.name, &self.worker)?,
            };
            match lease {
                Some(lease) => {
                    self.work(task, lease)?;
                    // What a slice left is for other workers.
                    let missing = self.missing()?;
                    self.offer(&missing)?;
                }
                None if self.offer(std::slice::from_ref(task))? == 0 => {
                    let holder = self.folder.holder(&task.name)?.unwrap_or_default();
                    self.output.progress(&format!("waiting: task {number} is done by {holder}"));
                    thread::sleep(LOOK);
                }
                None => {}
            }
        }
    }

    /// The tasks that have no result.
    fn missing(&mut self) -> anyhow::Result<Vec<Task>> {
        self.gathering.look()?;
        self.lay_aside()?;
        Ok(match self.gathering.results.missing()? {
            Merged::Missing(tasks) => tasks,
            Merged::Answer(_) | Merged::Known => Vec::new(),
        })
    }

    /// Lays files aside that are no results; their tasks are done again.
    fn lay_aside(&mut self) -> anyhow::Result<()> {
        for (name, why) in std::mem::take(&mut self.gathering.refused) {
            self.output.note(&format!("{why}; it is laid aside, and its task is done again"));
            self.folder.lay_aside(&name)?;
        }
        Ok(())
    }

    fn offer(&self, tasks: &[Task]) -> anyhow::Result<usize> {
        let files: Vec<(String, Vec<u8>)> =
            tasks.iter().map(|task| (task.name.clone(), task.bytes.clone())).collect();
        Ok(self.folder.offer(&files, &self.worker)?.unwrap_or(0))
    }

    /// Does a task for a slice and keeps its result.
    fn work(&mut self, task: &Task, lease: Lease) -> anyhow::Result<()> {
        // Another worker may have done it between two looks at the folder.
        if self.folder.has_result(&task.name) {
            lease.end();
            return Ok(());
        }
        self.output.progress(&format!("{} tasks done; now {:.12}", self.done, task.name));
        let stop = Stop::default();
        let slice = Duration::try_from_secs_f64(self.slice).ok();
        let deadline = self.limits.clone().or(stop.clone());
        let deadline = slice.map_or(deadline.clone(), |slice| deadline.at_most(slice));
        let (plan, device, limits) = (self.plan, &self.device, &self.limits);
        let renewal = self.folder.renewal();
        let (sender, receiver) = channel::<()>();
        let twin = lease.twin();
        let worked = thread::scope(|scope| {
            scope.spawn(move || {
                let mut renewed = Instant::now();
                while receiver.recv_timeout(TICK.min(renewal)) == Err(RecvTimeoutError::Timeout) {
                    if renewed.elapsed() >= renewal {
                        renewed = Instant::now();
                        if !twin.renew() {
                            stop.pull();
                        }
                    }
                    if limits.endless().is_past() {
                        stop.pull();
                    }
                }
            });
            let worked = plan.work_on(device, &task.bytes, &deadline);
            drop(sender);
            worked
        });
        match worked {
            Ok(result) => {
                self.folder.keep(lease, &result)?;
                self.gathering.add(&task.name, &result)?;
                self.done += 1;
                Ok(())
            }
            Err(TaskError::Stopped) if lease.renew() => {
                lease.give_back();
                Ok(())
            }
            Err(TaskError::Stopped) => {
                self.output
                    .note("another worker has taken the task over, for its lease was not renewed in time");
                Ok(())
            }
            Err(error) => {
                lease.give_back();
                Err(error).with_context(|| format!("task {:.12}", task.name))
            }
        }
    }

    fn end(&self, args: &WorkArgs, left: usize) -> anyhow::Result<Answer> {
        self.output.end_progress();
        let tasks = if self.done == 1 { "1 task".to_owned() } else { format!("{} tasks", self.done) };
        let text = format!("did {tasks}; {}\n", left_over(left, args));
        self.output.result(&text, &json!({"done": self.done, "left": left, "complete": left == 0}))?;
        Ok(if left == 0 { Answer::Yes } else { Answer::Undecided })
    }
}

fn left_over(left: usize, args: &WorkArgs) -> String {
    let folder = args.folder.display();
    match left {
        0 => format!("nothing is left: `fiberscope merge {folder}` gives the answer"),
        1 => "at least 1 task is left".into(),
        _ => format!("at least {left} tasks are left"),
    }
}
