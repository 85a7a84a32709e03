use rustix::fs::makedev;

use super::*;

const EXCLUSIVE: FlockOperation = FlockOperation::NonBlockingLockExclusive;
const SHARED: FlockOperation = FlockOperation::NonBlockingLockShared;

#[test]
fn the_holder_is_found_by_device_and_inode() {
    let locks = "1: POSIX  ADVISORY  WRITE 17 fe:00:5678 0 EOF\n\
                 2: FLOCK  ADVISORY  WRITE 4321 fe:00:999 0 EOF\n\
                 3: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF\n";
    assert_eq!(pid_in(locks, &["FLOCK"], makedev(0xfe, 0), 5678), Some(1234));
    assert_eq!(pid_in(locks, &["POSIX", "OFDLCK"], makedev(0xfe, 0), 5678), Some(17));
    assert_eq!(pid_in(locks, &["FLOCK"], makedev(0xfe, 1), 5678), None);
    assert_eq!(pid_in("", &["FLOCK"], makedev(0xfe, 0), 5678), None);
}

/// A virtual machine's disk: its program has locked parts of it by the open file, which belongs to
/// no process.
#[test]
fn a_lock_on_a_part_of_a_file_names_its_holder_as_far_as_that_is_known() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let stat = rustix::fs::stat(file.path()).unwrap();
    assert_eq!(holder_of_part(&stat), None);
    let script = "import fcntl, sys; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX, 1, 100); print('locked', flush=True); sys.stdin.read()";
    let mut command = std::process::Command::new("python3");
    command.args(["-c", script]).arg(file.path());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let Ok(mut child) = command.spawn() else { return };
    let mut said = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(child.stdout.take().unwrap()),
        &mut said,
    )
    .unwrap();
    let holder = holder_of_part(&stat).unwrap();
    assert!(holder.contains(&format!("process {}", child.id())), "{holder}");
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Whoever only reads keeps away whoever writes, and nobody else.
#[test]
fn readers_share_a_lock_that_no_writer_has_beside_them() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let [reader, other, writer] = [(); 3].map(|()| std::fs::File::open(file.path()).unwrap());
    assert_eq!(try_lock(&reader, SHARED), Ok(true));
    assert_eq!(try_lock(&other, SHARED), Ok(true));
    assert_eq!(try_lock(&writer, EXCLUSIVE), Ok(false));
    drop((reader, other));
    assert_eq!(try_lock(&writer, EXCLUSIVE), Ok(true));
    let stat = rustix::fs::fstat(&writer).unwrap();
    let late = std::fs::File::open(file.path()).unwrap();
    assert_eq!(
        share_when_left(&late, &stat, Duration::from_secs(60)),
        Ok(false),
        "it is not waited for"
    );
}

#[test]
fn a_lock_is_refused_to_a_second_opener_and_names_this_process() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let first = file.reopen().unwrap();
    let second = file.reopen().unwrap();
    assert_eq!(try_lock(&first, EXCLUSIVE), Ok(true));
    assert_eq!(try_lock(&second, EXCLUSIVE), Ok(false));
    let holder = holder_of_lock(&rustix::fs::fstat(&second).unwrap());
    assert!(holder.contains(&std::process::id().to_string()), "{holder}");
}

#[test]
fn a_lock_of_one_who_lives_is_not_waited_for_and_one_left_behind_is() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (first, second) = (file.reopen().unwrap(), file.reopen().unwrap());
    let stat = rustix::fs::fstat(&second).unwrap();
    assert_eq!(try_lock(&first, EXCLUSIVE), Ok(true));
    assert_eq!(lock_when_left(&second, &stat, Duration::MAX), Ok(false));
    drop(first);
    leave_lock_behind(file.path());
    assert_eq!(lock_when_left(&second, &stat, Duration::MAX), Ok(true));
}

/// Some other thread starts a program: until its new process has become that program, it has what
/// this process had open, and with it the lock of a file that has been closed here. A daemon that
/// opened a drive again at that moment was told that it had the drive itself.
#[test]
fn a_lock_that_a_starting_process_has_inherited_is_waited_for() {
    let (first, path) = tempfile::NamedTempFile::new().unwrap().into_parts();
    let second = std::fs::File::open(&path).unwrap();
    let stat = rustix::fs::fstat(&second).unwrap();
    assert_eq!(try_lock(&first, EXCLUSIVE), Ok(true));
    let mut child = std::process::Command::new("sleep").arg("0.2").stdin(first).spawn().unwrap();
    assert_eq!(try_lock(&second, EXCLUSIVE), Ok(false));
    assert_eq!(lock_when_left(&second, &stat, Duration::MAX), Ok(true));
    child.wait().unwrap();
}

/// The finder reads the label of each drive that has changed.
#[test]
fn who_only_reads_the_file_keeps_nobody_from_waiting_for_a_lock_that_was_left_behind() {
    let (first, path) = tempfile::NamedTempFile::new().unwrap().into_parts();
    let (look, second) = (std::fs::File::open(&path).unwrap(), std::fs::File::open(&path).unwrap());
    let stat = rustix::fs::fstat(&second).unwrap();
    assert_eq!(try_lock(&first, EXCLUSIVE), Ok(true));
    assert!(has_locked(std::process::id(), &second));
    let mut child = std::process::Command::new("sleep").arg("0.2").stdin(first).spawn().unwrap();
    assert_eq!(lock_when_left(&second, &stat, Duration::MAX), Ok(true));
    assert!(has_open(std::process::id(), &second) && !has_locked(std::process::id(), &second));
    drop(look);
    child.wait().unwrap();
}

/// A process takes the lock and ends; another that has inherited the open file ends soon after.
fn leave_lock_behind(path: &std::path::Path) {
    let script = "exec 9<>\"$1\"; flock 9 || exit 1; sleep 0.2 9<&9 & exit 0";
    let status =
        std::process::Command::new("sh").args(["-c", script, "sh"]).arg(path).status().unwrap();
    assert!(status.success());
}
