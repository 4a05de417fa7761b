import Foundation
import TestSupport
import Testing

/// libpam-pkcs11 lets the owner of a card in, through the module. PAM runs with wrappers: the machine's own login is not touched.
///
/// One at a time: pam_wrapper names its folders in /tmp by one letter, and two that start at once take the same.
@Suite(.serialized) struct PAMTests {
    @Test(arguments: ["rsa:2048", "ec:P-256"])
    func letsTheOwnerOfTheCardIn(kind: String) throws {
        let login = try PAMLogin([.authentication: kind, .signature: "ec:P-256"])
        let answer = try login.home.succeed(login.command(for: "alice"), login.variables, input: "123456\n")
        #expect(answer.contains("Welcome YubiKey 5 7654321!"))
        #expect(answer.contains("successfully authenticated"))
        // The card's first key is used, which does not need the PIN each time.
        #expect(try login.home.calls("C_Sign") == ["CKR_OK"])
    }

    @Test func refusesAWrongPIN() throws {
        let login = try PAMLogin([.authentication: "rsa:2048"])
        let answer = try login.home.fail(login.command(for: "alice"), login.variables, input: "999999\n")
        #expect(answer.contains("Wrong smartcard PIN"), "\(answer)")
        #expect(try login.home.calls("C_Login") == ["CKR_PIN_INCORRECT"])
        #expect(try login.home.calls("C_Sign").isEmpty)
    }

    @Test func refusesAnotherUser() throws {
        let login = try PAMLogin([.authentication: "rsa:2048"])
        let answer = try login.home.fail(login.command(for: "bob"), login.variables, input: "123456\n")
        #expect(answer.contains("No matching certificate found"), "\(answer)")
        #expect(try login.home.calls("C_Sign").isEmpty)
    }

    @Test func refusesACertificateOfAnotherAuthority() throws {
        let login = try PAMLogin([.authentication: "rsa:2048"], trustsAuthority: false)
        let answer = try login.home.fail(login.command(for: "alice"), login.variables, input: "123456\n")
        #expect(answer.contains("successfully") == false, "\(answer)")
        #expect(try login.home.calls("C_Sign").isEmpty)
    }
}

/// A PAM service that asks for a card, on a machine where Alice and Bob have accounts.
private struct PAMLogin {
    let home: ConsumerHome
    let variables: [String: String]

    init(_ keys: KeyValuePairs<CardSlotName, String>, trustsAuthority: Bool = true) throws {
        home = try ConsumerHome(keys)
        let folder = home.folder
        for name in ["services", "authorities"] {
            try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: false)
        }
        if trustsAuthority {
            try FileManager.default.copyItem(atPath: home.authority, toPath: folder.path("authorities/ca.pem"))
            try home.succeed(["openssl", "rehash", folder.path("authorities")])
        }
        try folder.write("mails", "alice@example.test -> alice\n")
        let module = folder.path("libtokenkit-pkcs11.so")
        try ModuleProgram.copy(to: module)
        let configuration = try folder.write("pam_pkcs11.conf", Self.configuration(folder, module))
        try folder.write("services/door", "auth required pam_pkcs11.so config_file=\(configuration)\n")
        variables = [
            "PAM_WRAPPER": "1", "PAM_WRAPPER_SERVICE_DIR": folder.path("services"),
            "NSS_WRAPPER_PASSWD": try folder.write(
                "passwd", "alice:x:5001:5001::/:/bin/sh\nbob:x:5002:5001::/:/bin/sh\n"),
            "NSS_WRAPPER_GROUP": try folder.write("group", "people:x:5001:\n"),
        ]
    }

    /// pam_pkcs11 requires a module that root owns. A user without root's rights is root in the daemon's namespace, in which the
    /// daemon's socket can be reached as well. The programs that enter the namespace must not have the wrappers loaded.
    func command(for user: String) -> [String] {
        home.holder.daemon.command(entering: [
            "env", "LD_PRELOAD=libnss_wrapper.so:libpam_wrapper.so", "pamtester", "door", user, "authenticate",
        ])
    }

    /// - Parameter module: a module that belongs to the user of the test, and that no other user can write.
    private static func configuration(_ folder: TemporaryFolder, _ module: String) -> String {
        """
        pam_pkcs11 {
          nullok = false;
          use_first_pass = false;
          try_first_pass = false;
          card_only = true;
          wait_for_card = false;
          use_pkcs11_module = tokenkit;
          pkcs11_module tokenkit {
            module = \(module);
            slot_num = 0;
            support_threads = false;
            ca_dir = \(folder.path("authorities"));
            cert_policy = ca,signature;
          }
          use_mappers = mail;
          mapper mail {
            module = internal;
            mapfile = file://\(folder.path("mails"));
            ignorecase = false;
            ignoredomain = false;
          }
        }

        """
    }
}
