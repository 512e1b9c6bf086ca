//! Submit descriptions: values, macros, arguments.

use super::*;
use proptest::prelude::*;

fn command(body: &str) -> Option<String> {
    let variables = |key: &str, append: bool| {
        let own = [
            ("x", false, "1 2"),
            ("loop", false, "$(LOOP)"),
            ("dir", false, "/hidden"),
            ("top", true, "over"),
        ];
        let found = own.iter().find(|(k, a, _)| (*k, *a) == (key, append));
        found.map(|(.., v)| *v)
    };
    Submit::parse(body).command("node", &variables)
}

#[test]
fn executable_and_arguments_make_a_command() {
    assert_eq!(
        command("executable = x.pl\narguments = 1 2\n").unwrap(),
        "x.pl 1 2"
    );
    assert_eq!(
        command(
            "  EXECUTABLE=/bin/echo\n# arguments = no\nArguments = \"a 'b c' \"\"d\"\" 'it''s' ''\""
        )
        .unwrap(),
        "/bin/echo a 'b c' '\"d\"' 'it'\\''s' ''"
    );
    assert_eq!(
        command("executable = e\narguments = say \\\"hi\\\"").unwrap(),
        "e say '\"hi\"'"
    );
    assert_eq!(command("executable = e").unwrap(), "e");
    assert_eq!(command("arguments = 1"), None);
    assert_eq!(command("executable = e\narguments = \"'open\""), None);
    assert_eq!(
        command("executable = e\narguments = \"single \" inside\""),
        None
    );
}

#[test]
fn macros_are_replaced_or_the_command_is_unknown() {
    let with = |arguments: &str| {
        command(&format!(
            "dir = /d\ntop = under\nexecutable = e\narguments = {arguments}"
        ))
    };
    assert_eq!(
        with("$(JOB) $(x) $(Dir)/$(none:no)").unwrap(),
        "e node 1 2 /d/no"
    );
    assert_eq!(with("$(top) \\\n $(x)").unwrap(), "e over 1 2");
    assert_eq!(with("1\narguments = $(Arguments) 2").unwrap(), "e 1 2");
    assert_eq!(with("$(DOLLAR)HOME a$b$").unwrap(), "e '$HOME' 'a$b$'");
    for unknown in [
        "$(Process)",
        "$$(Arch)",
        "$ENV(HOME)",
        "$(loop)",
        "$(open",
        "$$([1+1])",
        "$F(x)",
    ] {
        assert_eq!(with(unknown), None, "{unknown}");
    }
}

#[test]
fn what_a_description_asks_for() {
    let asks = "Request_Memory = 4096\nrequest_disk = 2GB\nallowed_execute_duration = 60";
    let asks = Submit::parse(asks);
    assert_eq!(
        (asks.memory(), asks.scratch()),
        (Some(4 << 30), Some(2 << 30))
    );
    assert_eq!(asks.time_limit(), Some(60.0));
    let asks = "request_memory = 2 * 512\nallowed_execute_duration = 0";
    let asks = Submit::parse(asks);
    assert_eq!((asks.memory(), asks.time_limit()), (None, None));
    assert_eq!(Submit::parse("request_cpus = 4").cpus(), Some(4));
    assert_eq!(Submit::parse("Request_Cpus = $(n)").cpus(), None);
}

#[test]
fn what_is_written_is_what_htcondor_documents() {
    let demands = Demands {
        cpus: Some(2),
        memory: Some(2000),
        scratch: Some(5120),
        time_limit: Some(89.5),
    };
    assert_eq!(
        description("echo \"it's $HOME\" > x", demands),
        "executable = /bin/sh\narguments = \"-c 'echo \"\"it''s $(DOLLAR)HOME\"\" > x'\"\nrequest_cpus = 2\n\
             request_memory = 2K\nrequest_disk = 5\nallowed_execute_duration = 90\n"
    );
    assert_eq!(
        description("a\\b\nc", Demands::default())
            .lines()
            .nth(1)
            .unwrap(),
        "arguments = \"-c 'eval \"\"$(DOLLAR)(printf %b \"\"$(DOLLAR)1\"\")\"\"' sh 'a\\\\b\\nc'\""
    );
}

#[cfg(unix)]
#[test]
fn the_shell_undoes_what_was_escaped() {
    let script = "printf '%s|' one\nprintf '%s|' 'back\\slash' \"$((1+1))\"\n";
    let out = std::process::Command::new(SHELL)
        .args(["-c", UNESCAPE, "sh", &escaped(script)])
        .output();
    assert_eq!(
        String::from_utf8_lossy(&out.unwrap().stdout),
        "one|back\\slash|2|"
    );
}

proptest! {
    #[test]
    fn a_written_command_is_read_back(command in "[ -~\\t\\n\\r\u{1}é\u{85}]{1,30}") {
        let body = description(&command, Demands::default());
        prop_assert_eq!(body.lines().count(), 2);
        prop_assert_eq!(Submit::parse(&body).command("n", &|_, _| None), Some(command));
    }
}
